/** A sandbox process that came to nothing before it tried a module; no module is at fault. */
export class SandboxStartError extends Error {
  override readonly name = "SandboxStartError";
  /** Another try may succeed, with nothing changed: it is the machine that had no room for one. */
  readonly isPassing = true;

  constructor(reason: string) {
    super(`a sandbox process for transforms ${reason}`);
  }
}
