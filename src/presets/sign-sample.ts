import { type SignedRequest, signRequest } from "../auth/signatures/sign-request.ts";
import type { MappingConfig } from "../config/mapping/schema.ts";
import { type PresetSample, sampleBody } from "./preset.ts";

export interface SampleRequest {
  readonly mapping: Pick<MappingConfig, "auth">;
  readonly sample: PresetSample;
  /** The URL that the sender was given, without a query. */
  readonly url: string;
  /** The hook token, for a mapping without authentication of its own. */
  readonly token: string | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** The sender's private key as PEM, for schemes that sign with one. */
  readonly key?: string | undefined;
  /** The delivery's id, for schemes that sign one; invented when absent. */
  readonly id?: string | undefined;
}

/** The request that a sender would make of a sample; `undefined` when only the sender has the key that signs it. */
export function signSample(request: SampleRequest): SignedRequest | undefined {
  const { mapping, sample, url, token, now, key = sharedKey(mapping), id } = request;
  const { body, contentType } = sampleBody(sample);
  const query = sample.query ? `?${new URLSearchParams(sample.query).toString()}` : "";
  const unsigned = { url: url + query, headers: { "content-type": contentType, ...sample.headers }, body };
  if (mapping.auth === undefined) {
    return { ...unsigned, headers: { ...unsigned.headers, authorization: `Bearer ${token}` } };
  }
  if (key === undefined) return undefined;
  return signRequest(mapping.auth, { method: "POST", ...unsigned, now, key, ...(id === undefined ? {} : { id }) });
}

/** The first secret, for schemes that sign with what they verify with. */
function sharedKey({ auth }: Pick<MappingConfig, "auth">): string | undefined {
  if (auth === undefined || !("secrets" in auth)) return undefined;
  if (auth.scheme !== "signature") return auth.secrets[0];
  const { algorithm, certificate } = auth;
  const isShared = typeof algorithm === "string" && /^(?:hmac-)?sha\d+$/u.test(algorithm);
  return isShared && certificate === undefined ? auth.secrets[0] : undefined;
}
