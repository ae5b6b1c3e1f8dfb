/** A preset put to work without a gateway: signs, verifies and reads requests as the ingress would. */
import { queryOf } from "../auth/call-view.ts";
import { NO_KEYS } from "../auth/keys/no-keys.ts";
import { compileScheme } from "../auth/signatures/compile-scheme.ts";
import { signRequest } from "../auth/signatures/sign-request.ts";
import type { SignedRequest } from "../auth/signatures/sign-request.ts";
import type { DeliveredKeys, IncomingCall, RemoteKeys, Verification } from "../auth/verifier.ts";
import type { AuthConfig } from "../config/auth-config.ts";
import { normalizeAuth } from "../config/normalize-auth.ts";
import type { PresetSettings } from "../config/preset-part.ts";
import type { EventActor, PayloadContext } from "../core/delivery.ts";
import { parsePayload } from "../http/parse-payload.ts";
import { sampleBody } from "../presets/sample-body.ts";
import { readAnswer, readEvent, readMessage } from "../presets/read-event.ts";
import type { Preset, PresetAnswer, PresetEvent, PresetSample } from "../presets/preset.ts";

/** Where the sender reaches the gateway. */
export const PUBLIC_URL = "https://gateway.example.com";
/** When requests are signed and received: 2026-11-20T12:00:00Z, in milliseconds. */
export const NOW = Date.UTC(2026, 10, 20, 12);

export interface ProbeOptions {
  /** As the configuration would hold them. */
  readonly secrets?: readonly string[];
  readonly settings?: PresetSettings;
  /** Absent: {@link PUBLIC_URL}. */
  readonly publicUrl?: string;
  readonly remoteKeys?: Partial<RemoteKeys>;
  readonly deliveredKeys?: DeliveredKeys;
}

/** The `auth` of a preset as a configuration with these secrets has it; `undefined`: the hook token. */
export function authOf(preset: Preset, { secrets = [], settings = {} }: ProbeOptions = {}): AuthConfig | undefined {
  const deliveredKey = secrets.length === 0 && preset.handshakes.some(({ effect }) => effect?.keyFrom !== undefined);
  return normalizeAuth(preset.auth(settings), secrets, { deliveredKey });
}

/** Verifies a call as the preset's route would; throws for a preset that takes the hook token. */
export async function verifyCall(
  preset: Preset,
  call: IncomingCall,
  options: ProbeOptions = {},
): Promise<Verification> {
  const verifier = compileScheme(ownAuth(preset, options), {
    route: preset.name,
    publicUrl: options.publicUrl ?? PUBLIC_URL,
    remoteKeys: { ...NO_KEYS.remoteKeys, ...options.remoteKeys },
    deliveredKeys: options.deliveredKeys ?? NO_KEYS.deliveredKeys,
  });
  return verifier.verify(call);
}

/** A sample, signed with the key as its sender would. */
export function signSample(
  preset: Preset,
  sample: PresetSample,
  options: ProbeOptions & { readonly key: string; readonly now?: number; readonly id?: string },
): SignedRequest {
  const { body, contentType } = sampleBody(sample);
  const query = sample.query ? `?${new URLSearchParams(sample.query).toString()}` : "";
  return signRequest(ownAuth(preset, options), {
    method: "POST",
    url: `${options.publicUrl ?? PUBLIC_URL}/hooks/${preset.name}${query}`,
    headers: { "content-type": contentType, ...sample.headers },
    body,
    now: options.now ?? NOW,
    key: options.key,
    ...(options.id === undefined ? {} : { id: options.id }),
  });
}

/** A signed request as the gateway receives it. */
export function receivedCall({ url, headers, body }: SignedRequest, changes: Partial<IncomingCall> = {}): IncomingCall {
  const { pathname, search } = new URL(url);
  return {
    method: "POST",
    target: pathname + search,
    headers,
    body,
    receivedAt: NOW,
    pathSecret: undefined,
    ...changes,
  };
}

/** What the ingress learns from a request through a preset. */
export interface Reading {
  readonly event: string | undefined;
  readonly deliveryId: string | undefined;
  readonly sender: EventActor | undefined;
  readonly skip: string | undefined;
  readonly message: string;
  readonly answer: PresetAnswer | undefined;
}

/** Reads a sample through the preset; throws when its body is none that the ingress would parse. */
export function readSample(preset: Preset, sample: PresetSample, settings: PresetSettings = {}): Reading {
  const { body, contentType } = sampleBody(sample);
  const parsed = parsePayload(body, contentType, { accept: ["json", "form", "text"] });
  if (!parsed.ok) throw new Error(parsed.detail);
  const headers = { "content-type": contentType, ...sample.headers };
  return readPayload(preset, parsed.payload, { sample: { ...sample, headers }, settings });
}

/** Reads any payload as if it came with the headers and the query of a sample. */
export function readPayload(preset: Preset, payload: unknown, { sample, settings = {} }: Around): Reading {
  const { context, deliveryId, skip } = readEvent(preset, requestOf(preset, payload, sample), settings);
  return {
    event: context.event,
    deliveryId,
    sender: context.sender,
    skip,
    message: readMessage(preset, { ...context, settings }),
    answer: readAnswer(preset, context, settings),
  };
}

/** The same without the ingress, which bounds what a preset says and catches what it throws. */
export function readDirectly(preset: Preset, payload: unknown, { sample, settings = {} }: Around): Reading {
  const context = { ...requestOf(preset, preset.unwrap(payload), sample), settings };
  const sender = preset.senderOf(context);
  const event: PresetEvent = { ...context, event: preset.eventOf(context), sender };
  return {
    event: event.event,
    deliveryId: preset.deliveryIdOf(context),
    sender,
    skip: preset.skip(event),
    message: preset.message(event),
    answer: preset.answer(event),
  };
}

/** What comes with a payload. */
interface Around {
  readonly sample: PresetSample;
  readonly settings?: PresetSettings;
}

function requestOf(preset: Preset, payload: unknown, sample: PresetSample): PayloadContext {
  return {
    path: preset.name,
    headers: { "content-type": "application/json", ...sample.headers },
    query: queryOf(`?${new URLSearchParams(sample.query).toString()}`),
    payload,
    now: new Date(NOW),
  };
}

function ownAuth(preset: Preset, options: ProbeOptions): AuthConfig {
  const auth = authOf(preset, options);
  if (auth === undefined) throw new Error(`The preset ${preset.name} takes the hook token.`);
  return auth;
}
