/** Why a gateway cannot start, in a sentence for its owner. */
export class StartError extends Error {
  override readonly name: string = "StartError";
}
