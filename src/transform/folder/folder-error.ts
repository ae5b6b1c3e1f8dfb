/** The transforms folder cannot be used as it is; the message is for the gateway's owner and names the file. */
export class FolderError extends Error {
  override readonly name = "FolderError";
}
