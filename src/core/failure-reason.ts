/** The reason of a failure of someone else's code, in one line; never throws, whatever was thrown. */
export function failureReason(error: unknown): string {
  try {
    const message = error instanceof Error ? error.message : String(error);
    return message.split("\n", 1).join("");
  } catch {
    return "something that cannot be shown";
  }
}
