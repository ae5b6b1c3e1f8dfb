import { SenderApiError } from "../hosts/embedded/errors.ts";

/** A failure of a command, in words for its user. */
export class CliError extends Error {
  override readonly name: string = "CliError";
}

/** True for an error whose message is the whole answer for the user. */
export function isForOwner(error: unknown): error is Error {
  return error instanceof CliError || error instanceof SenderApiError;
}

/** Ctrl-C or a signal ended the command; nothing more is said. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
  readonly exitCode: number;

  constructor(exitCode: number) {
    super("The command was interrupted.");
    this.exitCode = exitCode;
  }
}

/** A refusal by the running gateway. */
export class AnswerError extends CliError {
  override readonly name = "AnswerError";
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** Thrown when there is a configuration already. */
export class ConfigExistsError extends CliError {
  override readonly name = "ConfigExistsError";
}
