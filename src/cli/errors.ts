/** A failure of a command, in words for its user. */
export class CliError extends Error {
  override readonly name: string = "CliError";
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
