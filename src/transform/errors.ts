import type { SandboxLoadFailure } from "./sandbox/messages.ts";

/** Modules that cannot be loaded; each message names file, line and column as far as they are known. */
export class SandboxLoadError extends Error {
  override readonly name = "SandboxLoadError";
  readonly failures: readonly SandboxLoadFailure[];

  constructor(failures: readonly SandboxLoadFailure[]) {
    super(failures.map(({ message }) => message).join("; "));
    this.failures = failures;
  }
}
