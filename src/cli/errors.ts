/** A failure of a command, in words for its user. */
export class CliError extends Error {
  override readonly name = "CliError";
}
