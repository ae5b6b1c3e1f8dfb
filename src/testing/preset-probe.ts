/** A preset put to work without a gateway: signs, verifies and reads requests as the ingress would. */
import { generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { queryOf } from "../auth/request-view.ts";
import { NO_KEYS } from "../auth/keys/remote-keys.ts";
import { compileScheme } from "../auth/signatures/compile-scheme.ts";
import { type SignedRequest, signRequest } from "../auth/signatures/sign-request.ts";
import type { DeliveredKeys, IncomingRequest, RemoteKeys, Verification } from "../auth/verifier.ts";
import type { AuthConfig } from "../config/auth/schema.ts";
import type { AuthInput } from "../config/auth/schema.ts";
import { normalizeAuth } from "../config/auth/read.ts";
import type { PresetSettings } from "../config/preset.ts";
import type { EventActor, PayloadContext } from "../core/delivery.ts";
import { parsePayload } from "../http/parse-payload.ts";
import {
  type ChatMessage,
  type Preset,
  type PresetAnswer,
  type PresetEvent,
  type PresetSample,
  sampleBody,
} from "../presets/preset.ts";
import { readAnswer, readChat, readEvent, readMessage } from "../presets/read-event.ts";

/** The URL at which the sender reaches the gateway. */
export const PUBLIC_URL = "https://gateway.example.com";
/** The time at which requests are signed and received: 2026-11-20T12:00:00Z, in milliseconds. */
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
  call: IncomingRequest,
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
export function receivedCall(
  { url, headers, body }: SignedRequest,
  changes: Partial<IncomingRequest> = {},
): IncomingRequest {
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

/** The facts that the ingress reads from a request through a preset. */
export interface Reading {
  readonly event: string | undefined;
  readonly deliveryId: string | undefined;
  readonly sender: EventActor | undefined;
  readonly skip: string | undefined;
  readonly message: string;
  readonly answer: PresetAnswer | undefined;
  /** Present for a preset that knows the messages of a private chat. */
  readonly chat?: ChatMessage | undefined;
}

/** Reads a sample through the preset; throws when its body is none that the ingress would parse. */
export function readSample(preset: Preset, sample: PresetSample, settings: PresetSettings = {}): Reading {
  const { body, contentType } = sampleBody(sample);
  const parsed = parsePayload(body, contentType, { accept: ["json", "form", "multipart", "text"] });
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
    sender: context.actor,
    skip,
    message: readMessage(preset, { ...context, settings }),
    answer: readAnswer(preset, context, settings),
    ...(preset.hasChat ? { chat: readChat(preset, context, settings) } : {}),
  };
}

/** The same without the ingress, which bounds what a preset says and catches what it throws. */
export function readDirectly(preset: Preset, payload: unknown, { sample, settings = {} }: Around): Reading {
  const context = { ...requestOf(preset, preset.unwrap(payload), sample), settings };
  const actor = preset.senderOf(context);
  const event: PresetEvent = { ...context, event: preset.eventOf(context), actor };
  // What these say is no part of the reading; what they throw shows all the same.
  preset.authorsOf(context);
  preset.written(event);
  preset.objects?.held(event);
  preset.objects?.approved(event);
  return {
    event: event.event,
    deliveryId: preset.deliveryIdOf(context),
    sender: actor,
    skip: preset.skip(event),
    message: preset.message(event),
    answer: preset.answer(event),
    ...(preset.hasChat ? { chat: preset.chat(event) } : {}),
  };
}

/** The surroundings of a payload. */
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

/** The key that a sender signs with, and the configuration's part of it. */
export interface PresetKeys {
  /** For `secret`; empty where the sender's keys are fetched. */
  readonly secrets: readonly string[];
  /** For {@link "./preset-probe".signSample}. */
  readonly key: string;
}

/**
 * Makes fresh keys for a scheme; `undefined` where only the sender's own keys would do: certificates
 * and tokens of an identity provider.
 */
export function makePresetKeys(auth: AuthInput): PresetKeys | undefined {
  if (auth.certificate !== undefined || auth.scheme === "token") return undefined;
  if (auth.scheme === "jwt" && auth.algorithm === undefined) return undefined;
  const algorithm = typeof auth.algorithm === "string" ? auth.algorithm : "hmac-sha256";
  if (auth.scheme === "signature" || auth.scheme === undefined) {
    if (algorithm === "ed25519") return ofPair(generateKeyPairSync("ed25519"), auth, rawEd25519);
    if (algorithm === "ecdsa-sha256") return ofPair(generateKeyPairSync("ec", { namedCurve: "P-256" }), auth, spki);
    if (algorithm.startsWith("rsa")) return ofPair(generateKeyPairSync("rsa", { modulusLength: 2048 }), auth, spki);
  }
  const secret = sharedSecret(auth);
  return { secrets: [secret], key: secret };
}

function sharedSecret({ scheme, keyEncoding, username }: AuthInput): string {
  if (scheme === "basic" && username === undefined) return `reveille:${randomBytes(24).toString("hex")}`;
  if (keyEncoding === "whsec") return `whsec_${randomBytes(24).toString("base64")}`;
  return randomBytes(32).toString(keyEncoding === "base64" ? "base64" : "hex");
}

function ofPair(
  pair: { publicKey: KeyObject; privateKey: KeyObject },
  auth: AuthInput,
  raw: (key: KeyObject) => Buffer,
): PresetKeys {
  const key = pair.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  if (auth.keyEncoding === "hex" || auth.keyEncoding === "base64") {
    return { secrets: [raw(pair.publicKey).toString(auth.keyEncoding)], key };
  }
  if (auth.keyEncoding === "whsec") return { secrets: [`whpk_${raw(pair.publicKey).toString("base64")}`], key };
  return { secrets: [pair.publicKey.export({ type: "spki", format: "pem" }).toString()], key };
}

function spki(key: KeyObject): Buffer {
  return key.export({ type: "spki", format: "der" });
}

/** The last 32 bytes of the structure are the key itself (RFC 8410, 4). */
function rawEd25519(key: KeyObject): Buffer {
  return spki(key).subarray(-32);
}
