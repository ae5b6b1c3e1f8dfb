import type { IncomingRequest } from "../../../src/auth/verifier.ts";
import type { Preset } from "../../../src/presets/preset.ts";
import { sampleBody } from "../../../src/presets/preset.ts";
import { receivedCall, PUBLIC_URL } from "../../../src/testing/preset-probe.ts";

/** A sample as its sender posts it, with the headers that its documentation says, given its body. */
export function sampleCall(
  preset: Preset,
  name: string,
  headersFor: (body: Uint8Array) => Readonly<Record<string, string>>,
): IncomingRequest {
  const sample = preset.samples[name]!;
  const { body, contentType } = sampleBody(sample);
  const headers = { "content-type": contentType, ...sample.headers, ...headersFor(body) };
  return receivedCall({ url: `${PUBLIC_URL}/hooks/${preset.name}`, headers, body });
}
