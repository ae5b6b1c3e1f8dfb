/** A sandbox process that came to nothing before it tried a module; no module is at fault. */
export class SandboxStartError extends Error {
  override readonly name = "SandboxStartError";

  constructor(reason: string) {
    super(`a sandbox process for transforms ${reason}`);
  }
}
