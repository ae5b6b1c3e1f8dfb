/** What a command cannot do, in words for whoever typed it. */
export class CliError extends Error {
  override readonly name = "CliError";
}
