/** The folder was written to while it was read; what was read of it means nothing, and another try may succeed. */
export class FolderChangedError extends Error {
  override readonly name = "FolderChangedError";
}
