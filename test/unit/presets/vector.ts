/**
 * Requests on which the library of their sender has given its verdict. `npm run oracles` writes them to
 * `test/fixtures/vectors/`; the default run replays them without the library.
 */
import { createRemoteKeys } from "../../../src/auth/keys/remote-keys.ts";
import type { IncomingRequest } from "../../../src/auth/verifier.ts";
import type { FetchedAnswer } from "../../../src/http/guarded-fetch.ts";
import type { Preset } from "../../../src/presets/preset.ts";
import { verifyCall } from "../../../src/testing/preset-probe.ts";
import type { ProbeOptions } from "../../../src/testing/preset-probe.ts";
import { keepingLogger } from "../auth/keys/key-server.ts";
import { PATIENT_BOUNDS } from "../auth/keys/patient-bounds.ts";

/** The vectors of one sender. */
export interface Vectors {
  readonly preset: string;
  /** The library that judged. */
  readonly sdk: { readonly name: string; readonly version: string };
  /** What is fetched in the course of a verification: certificates and key sets by their URLs. */
  readonly fetched?: FetchedTexts;
  readonly vectors: readonly Vector[];
}

export type FetchedTexts = Readonly<Record<string, string>>;

/** The same as JSON, in which each body stands once. */
interface VectorFile extends Omit<Vectors, "vectors"> {
  readonly bodies: readonly Vector["body"][];
  readonly vectors: readonly (Omit<Vector, "body"> & { readonly body: number })[];
}

export interface Vector {
  /** The test in `test/oracles/` that made it. */
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Bytes that are no UTF-8 are written in base64. */
  readonly body: string | { readonly base64: string };
  /** When it is received. */
  readonly at: string;
  readonly secrets?: readonly string[];
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Whether the library accepts it; absent where nothing is signed. */
  readonly sdk?: boolean;
  /** Whether we accept it, where we differ from the library on purpose. */
  readonly reveille?: boolean;
  /** The JSON with which the library answers, where the request is a handshake. */
  readonly answer?: unknown;
  /** The event as the library reads it. */
  readonly reads?: { readonly event: string; readonly deliveryId: string };
}

export function writeVectors({ vectors, ...about }: Vectors): string {
  const texts = [...new Set(vectors.map(({ body }) => JSON.stringify(body)))];
  const file: VectorFile = {
    ...about,
    bodies: texts.map((text) => JSON.parse(text) as Vector["body"]),
    vectors: vectors.map((vector) => ({ ...vector, body: texts.indexOf(JSON.stringify(vector.body)) })),
  };
  return `${JSON.stringify(file, null, 2)}\n`;
}

export function readVectors(text: string): Vectors {
  const { bodies, vectors, ...about } = JSON.parse(text) as VectorFile;
  return { ...about, vectors: vectors.map((vector) => ({ ...vector, body: bodies[vector.body]! })) };
}

/** Makes a vector of a call, without its verdicts. */
export function vectorOf(name: string, call: IncomingRequest, options: VectorOptions): Vector {
  const { publicUrl, secrets, settings } = options;
  const bytes = Buffer.from(call.body);
  const text = bytes.toString("utf8");
  return {
    name,
    url: publicUrl + call.target,
    headers: Object.fromEntries(Object.entries(call.headers).map(([header, value]) => [header, String(value)])),
    body: Buffer.from(text).equals(bytes) ? text : { base64: bytes.toString("base64") },
    at: new Date(call.receivedAt).toISOString(),
    ...(secrets === undefined ? {} : { secrets }),
    ...(settings === undefined ? {} : { settings }),
  };
}

export type VectorOptions = Pick<ProbeOptions, "secrets" | "settings"> & { readonly publicUrl: string };

/** The call of a vector, as the gateway receives it. */
export function callOfVector({ url, headers, body, at }: Vector): IncomingRequest {
  return {
    method: "POST",
    target: url.slice(publicUrlOf(url).length),
    headers,
    body: typeof body === "string" ? Buffer.from(body) : Buffer.from(body.base64, "base64"),
    receivedAt: Date.parse(at),
    pathSecret: undefined,
  };
}

/** The configuration that a vector is verified with. */
export function optionsOfVector({ url, secrets, settings }: Vector): VectorOptions {
  return {
    publicUrl: publicUrlOf(url),
    ...(secrets === undefined ? {} : { secrets }),
    ...(settings === undefined ? {} : { settings }),
  };
}

/** Whether the preset accepts a vector; `fetched` holds the certificates and key sets that can be fetched. */
export async function accepts(preset: Preset, vector: Vector, fetched: FetchedTexts = {}): Promise<boolean> {
  const call = callOfVector(vector);
  const remoteKeys = createRemoteKeys({
    clock: { now: () => call.receivedAt },
    logger: keepingLogger(),
    fetch: (url) => Promise.resolve(answerOf(fetched[url])),
    bounds: PATIENT_BOUNDS,
  });
  try {
    return (await verifyCall(preset, call, { ...optionsOfVector(vector), remoteKeys })).ok;
  } finally {
    remoteKeys.close();
  }
}

function answerOf(text: string | undefined): FetchedAnswer {
  return { status: text === undefined ? 404 : 200, headers: {}, body: Buffer.from(text ?? "") };
}

/** Not by `new URL`, which drops a port that is the default one. */
function publicUrlOf(url: string): string {
  return /^https:\/\/[^/]+/.exec(url)![0];
}
