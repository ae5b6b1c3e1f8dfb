/** The message of a thrown value. Never throws, whatever the value is. */
export function reasonOf(error: unknown): string {
  try {
    return error instanceof Error ? error.message : String(error);
  } catch {
    return "something that cannot be shown";
  }
}

/** The first line of {@link reasonOf}, for messages of one line. */
export function reasonLine(error: unknown): string {
  return reasonOf(error).split("\n", 1).join("");
}
