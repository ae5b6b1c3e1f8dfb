/** What went wrong, as it stands in the reason of a run. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
