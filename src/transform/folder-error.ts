export interface FolderErrorOptions {
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
