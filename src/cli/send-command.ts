/** `reveille send`. */
import { reasonOf } from "../core/reason-of.ts";
import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { extname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { SignedRequest } from "../auth/signatures/sign-request.ts";
import type { MappingConfig } from "../config/mapping/schema.ts";
import type { DeliveryDetail, DeliverySummary } from "../core/delivery.ts";
import type { State } from "../core/run.ts";
import { type Preset, type PresetSample, sampleBody, schemeName } from "../presets/preset.ts";
import { signSample } from "../presets/sign-sample.ts";
import { CliError } from "./errors.ts";
import type { GatewayAccess, GatewayCommandOptions } from "./gateway.ts";
import type { CliIo } from "./io.ts";
import { freshSample } from "./fresh-sample.ts";
import { askGateway, reachGateway } from "./gateway-client.ts";
import type { LoadedConfiguration } from "./load-configuration.ts";
import { knownPresets, presetNamed, senderNamed } from "./presets-command.ts";
import { printable } from "./terminal-text.ts";

interface AcceptedCall {
  readonly access: GatewayAccess;
  /** The answer of the hook. */
  readonly answer: string;
  readonly mapping: MappingConfig;
  readonly waitSeconds: number;
}

const OPEN: ReadonlySet<State> = new Set(["queued", "running"]);
const EVERY_MS = 200;

interface SendOutcome {
  /** `null`: the hook answered by itself, and nothing was accepted for an agent. */
  readonly delivery: DeliveryDetail | null;
  /** The delivery that lists the call as a copy of `delivery`; `null` when it is none. */
  readonly duplicate: string | null;
}

/** Waits for the delivery that an answer names. */
async function waitForDelivery(watched: AcceptedCall): Promise<SendOutcome> {
  const { id, copy = null } = await findDelivery(watched);
  if (id === undefined) return { delivery: null, duplicate: null };
  const deadline = Date.now() + watched.waitSeconds * 1_000;
  let delivery = await readDelivery(watched, id);
  if (copy !== null) return { delivery, duplicate: copy };
  while (OPEN.has(delivery.state) && Date.now() < deadline) {
    await sleep(EVERY_MS);
    delivery = await readDelivery(watched, id);
  }
  return { delivery, duplicate: null };
}

function printOutcome({ delivery, duplicate }: SendOutcome, io: CliIo): void {
  if (delivery === null) {
    io.out("The hook answered by itself: nothing was accepted for an agent.\n");
    return;
  }
  if (duplicate !== null) {
    io.out(`delivery ${duplicate}: duplicate of ${delivery.id}, which is ${delivery.state}; nothing ran\n`);
    io.out("To send it as a new delivery, leave out --same.\n");
    return;
  }
  io.out(`delivery ${delivery.id}: ${delivery.state}${inBrackets(delivery.reason)}\n`);
  for (const run of delivery.runs) {
    io.out(`  ${run.spec.kind} run ${run.id}: ${run.state}${inBrackets(run.reason)}\n`);
    if (run.reply !== null && run.reply !== "") io.out(`    reply: ${printable(run.reply.split("\n")[0]!)}\n`);
  }
}

function inBrackets(reason: string | null): string {
  return reason === null ? "" : ` (${printable(reason)})`;
}

interface FoundDelivery {
  readonly id: string | undefined;
  /** The id of the delivery that repeats it, when the call was a copy. */
  readonly copy?: string;
}

/**
 * The id in the answer; senders who need another answer do not get one, and then it is the route's latest.
 * A copy gets the answer of the first call, and is listed as the route's latest.
 */
async function findDelivery({ answer, mapping, ...watched }: AcceptedCall): Promise<FoundDelivery> {
  const answered = idIn(answer);
  const query = new URLSearchParams({ route: mapping.match.path ?? "", limit: "1" });
  const page = await askGateway<{ deliveries: readonly DeliverySummary[] }>(
    watched.access,
    `/deliveries?${query.toString()}`,
  );
  const [latest] = page.deliveries;
  const first = latest?.state === "duplicate" ? latest.relatedTo?.deliveryId : undefined;
  if (latest !== undefined && first !== undefined && (answered ?? first) === first)
    return { id: first, copy: latest.id };
  return { id: answered ?? latest?.id };
}

function idIn(answer: string): string | undefined {
  try {
    const { deliveryId } = JSON.parse(answer) as { deliveryId?: unknown };
    return typeof deliveryId === "string" ? deliveryId : undefined;
  } catch {
    return undefined;
  }
}

function readDelivery(watched: AcceptedCall, id: string): Promise<DeliveryDetail> {
  return askGateway<DeliveryDetail>(watched.access, `/deliveries/${encodeURIComponent(id)}`);
}

/** Its log has the cause, which no caller is answered. */
const UNAUTHORIZED_HINT =
  "The running gateway did not accept the signature. It may still use an older configuration, or another value of a variable or a file that holds the secret. Its log names the cause; save the file again or restart the gateway.\n";

export interface SendOptions extends GatewayCommandOptions {
  /** A body to send instead of the sample's. */
  readonly file?: string;
  /** PEM file of the sender's private key, for schemes that sign with one. */
  readonly key?: string;
  /** Sends the sample under the id that it is written with, so that a second call is a copy of the first. */
  readonly same?: boolean;
  readonly json?: boolean;
  /** Seconds to wait for the delivery's final state. */
  readonly wait: number;
}

/**
 * Signs a sample as its sender would, posts it to the running gateway, and prints the answer and the
 * delivery's final state. Resolves with the exit code: 0 when it was accepted and did not fail.
 */
export async function send(
  name: string,
  sampleName: string | undefined,
  options: SendOptions,
  io: CliIo,
): Promise<number> {
  const { presets, loaded } = await knownPresets(options, io);
  const sender = senderNamed(loaded, name);
  const preset = presetNamed(presets, sender?.preset ?? name);
  if (!loaded) throw new CliError(`There is no configuration; write one with: ${io.gateway.setupCommand}`);
  const mapping = sender ?? loaded.active.config.mappings.find((each) => each.preset === name);
  if (!mapping) {
    throw new CliError(
      `hooks.presets does not have "${name}"; for what to write: ${io.gateway.program} presets show ${name}`,
    );
  }
  const written = sampleOf(preset, sampleName, options.file);
  const sample = options.same === true ? written : freshSample(preset, written, mapping.settings);
  const access = await reachGateway(options, io);
  const { url: baseUrl } = access;
  const signed = signedAs(preset, { mapping, sample, loaded, baseUrl, options });
  const { pathname, search } = new URL(signed.url);
  const response = await post(`${baseUrl}${pathname.slice(basePath(loaded).length)}${search}`, signed);
  const answer = await response.text();
  const isJson = options.json === true;
  if (!isJson) io.out(`${response.status} ${response.statusText}\n${answer === "" ? "" : `${answer}\n`}`);
  if (response.status === 401) io.err(UNAUTHORIZED_HINT);
  const outcome = response.ok
    ? await waitForDelivery({ access, answer, mapping, waitSeconds: options.wait })
    : { delivery: null, duplicate: null };
  if (isJson) io.out(`${JSON.stringify({ status: response.status, answer, ...outcome }, undefined, 2)}\n`);
  else if (response.ok) printOutcome(outcome, io);
  return response.ok && (outcome.duplicate !== null || outcome.delivery?.state !== "failed") ? 0 : 1;
}

function sampleOf(preset: Preset, name: string | undefined, file: string | undefined): PresetSample {
  const names = Object.keys(preset.samples);
  const chosen = name ?? names[0]!;
  if (!Object.hasOwn(preset.samples, chosen)) {
    throw new CliError(`The preset ${preset.name} has no sample "${chosen}". It has: ${names.join(", ")}.`);
  }
  const sample = preset.samples[chosen]!;
  if (file === undefined) return sample;
  const text = readFileSync(file, "utf8");
  if (sample.format !== "form" && extname(file) !== ".txt") return { ...sample, payload: parseJson(text, file) };
  return { ...sample, format: "text", payload: text, headers: { ...sample.headers, "content-type": typeOf(sample) } };
}

function typeOf({ format }: PresetSample): string {
  return format === "form" ? "application/x-www-form-urlencoded" : "text/plain";
}

function parseJson(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CliError(`${file} is not JSON: ${reasonOf(error)}`);
  }
}

interface Signing {
  readonly mapping: MappingConfig;
  readonly sample: PresetSample;
  readonly loaded: LoadedConfiguration;
  readonly baseUrl: string;
  readonly options: SendOptions;
}

function signedAs(preset: Preset, { mapping, sample, loaded, baseUrl, options }: Signing): SignedRequest {
  const { publicUrl = baseUrl, path, tokens } = loaded.active.config;
  const signed = signSample({
    mapping,
    sample,
    url: `${publicUrl}${path}/${mapping.match.path}`,
    token: tokens[0],
    now: Date.now(),
    key: options.key === undefined ? undefined : readFileSync(options.key, "utf8"),
    id: options.same === true ? `msg_${hash("sha256", sampleBody(sample).body).slice(0, 24)}` : undefined,
  });
  if (signed === undefined) {
    throw new CliError(
      `${preset.title} signs with a key of its own (${schemeName(preset)}), which only the sender has. For a route with a key of yours, pass the private one: --key key.pem`,
    );
  }
  return signed;
}

/** The part of the public URL's path that a proxy takes away. */
function basePath({ active }: LoadedConfiguration): string {
  const { publicUrl } = active.config;
  return publicUrl === undefined ? "" : new URL(publicUrl).pathname.replace(/\/+$/u, "");
}

async function post(url: string, { headers, body }: SignedRequest): Promise<Response> {
  try {
    return await fetch(url, { method: "POST", headers, body: new Uint8Array(body), redirect: "manual" });
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    throw new CliError(`The gateway does not answer under ${new URL(url).origin}: ${cause}. Is it running?`);
  }
}
