import type { SandboxLoadFailure } from "./sandbox/messages.ts";

/** A sandbox process that came to nothing before it tried a module; no module is at fault. */
export class SandboxStartError extends Error {
  override readonly name = "SandboxStartError";
  /** Another try may succeed, with nothing changed: it is the machine that had no room for one. */
  readonly isPassing = true;

  constructor(reason: string) {
    super(`a sandbox process for transforms ${reason}`);
  }
}

/**
 * A module that a transform may not have, or that is not there; the message is for the operator.
 *
 * Its code is the one that packages look for which can do without an optional dependency.
 */
export class ModuleRefusedError extends Error {
  override readonly name = "ModuleRefusedError";
  readonly code = "MODULE_NOT_FOUND";
}

interface FolderErrorOptions {
  readonly cause?: unknown;
  /** Default: what the code of the cause says. */
  readonly isPassing?: boolean;
}

const PASSING: ReadonlySet<unknown> = new Set(["ENOSPC", "EMFILE", "ENFILE", "EAGAIN", "EBUSY", "EIO"]);

/** The transforms folder cannot be used as it is; the message is for the gateway's owner and names the file. */
export class FolderError extends Error {
  override readonly name = "FolderError";
  /** True when another try may succeed with nothing changed in the folder. */
  readonly isPassing: boolean;

  constructor(message: string, { cause, isPassing = isPassingCause(cause) }: FolderErrorOptions = {}) {
    super(message, cause === undefined ? {} : { cause });
    this.isPassing = isPassing;
  }
}

function isPassingCause(cause: unknown): boolean {
  return cause instanceof Error && "code" in cause && PASSING.has(cause.code);
}

/** The folder was written to while it was read; what was read of it means nothing, and another try may succeed. */
export class FolderChangedError extends Error {
  override readonly name = "FolderChangedError";
}

/** Modules that cannot be loaded; each message names file, line and column as far as they are known. */
export class SandboxLoadError extends Error {
  override readonly name = "SandboxLoadError";
  readonly failures: readonly SandboxLoadFailure[];

  constructor(failures: readonly SandboxLoadFailure[]) {
    super(failures.map(({ message }) => message).join("; "));
    this.failures = failures;
  }
}
