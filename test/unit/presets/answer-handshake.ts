import { compileHandshakes } from "../../../src/auth/handshake/handshake.ts";
import type { HandshakeAnswer } from "../../../src/auth/handshake/handshake.ts";
import { NO_KEYS } from "../../../src/auth/keys/remote-keys.ts";
import type { IncomingRequest } from "../../../src/auth/verifier.ts";
import type { Preset } from "../../../src/presets/preset.ts";
import { NOW, PUBLIC_URL, verifyCall } from "../../../src/testing/preset-probe.ts";
import type { ProbeOptions } from "../../../src/testing/preset-probe.ts";

/** What a call is answered with if it is a handshake of the preset: unsigned ones first, then verified ones. */
export async function answerHandshake(
  preset: Preset,
  call: IncomingRequest,
  options: ProbeOptions = {},
): Promise<HandshakeAnswer | undefined> {
  const handshakes = compileHandshakes(preset.handshakes, {
    route: preset.name,
    secrets: options.secrets ?? [],
    settings: options.settings ?? {},
    publicUrl: options.publicUrl ?? PUBLIC_URL,
    ...NO_KEYS,
  });
  const unsigned = await handshakes.unverified(call);
  if (unsigned !== undefined) return unsigned;
  const verification = await verifyCall(preset, call, options);
  return verification.ok ? handshakes.verified(call) : undefined;
}

/** A request without a signature. */
export function plainCall(method: string, target: string, body = "", contentType?: string): IncomingRequest {
  return {
    method,
    target,
    headers: contentType === undefined ? {} : { "content-type": contentType },
    body: Buffer.from(body),
    receivedAt: NOW,
    pathSecret: undefined,
  };
}
