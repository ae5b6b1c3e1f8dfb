import { compileSource, splitSource } from "../value-source.ts";
import type { IncomingRequest, RequestView } from "../verifier.ts";

/** The request that the parts of a scheme read from. */
export interface SignedInput {
  readonly call: IncomingRequest;
  readonly view: RequestView;
  /** `key=value` of the signature header; `undefined` for a key with several values. */
  readonly pairs: ReadonlyMap<string, string | undefined>;
}

export const NO_PAIRS: SignedInput["pairs"] = new Map();

/** Compiles a source as {@link compileSource} does, and besides `pair:<key>` and `path`. */
export function compileRequestSource(source: string): (input: SignedInput) => string | undefined {
  const { kind, name } = splitSource(source);
  if (kind === "pair") return ({ pairs }) => pairs.get(name);
  if (kind === "path") return ({ call }) => call.pathSecret;
  const read = compileSource(source);
  return ({ view }) => read(view);
}

/** The bytes of a value as they were sent: Node hands over those of a header as one character each. */
export function sentBytes(value: string, source: string): string | Uint8Array {
  const { kind } = splitSource(source);
  return kind === "header" || kind === "pair" ? wireBytes(value) : value;
}

const NOT_ASCII = /[^\0-\x7f]/;

/** Text that came with the head of a request, as the bytes that it was; ASCII stays text. */
export function wireBytes(value: string): string | Uint8Array {
  return NOT_ASCII.test(value) ? Buffer.from(value, "latin1") : value;
}

/** Names a source in a reason: `header x-id`, `body data.id`, `path`. */
export function nameSource(source: string): string {
  return source.replace(":", " ");
}
