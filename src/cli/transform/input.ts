/** The request that a transform is tried with. */
import { readFile } from "node:fs/promises";
import type { DeliveryDetail, Headers, Query } from "../../core/delivery.ts";
import type { Preset } from "../../presets/preset.ts";
import { sampleBody } from "../../presets/preset.ts";
import { CliError } from "../errors.ts";
import type { CliIo } from "../io.ts";
import type { GatewayCommandOptions } from "../gateway.ts";
import { askGateway, askGatewayForBytes, reachGateway } from "../gateway-client.ts";
import { presetNamed } from "../presets-command.ts";

export interface InputOptions extends GatewayCommandOptions {
  /** A file, or `-` for standard input. */
  readonly payload?: string;
  readonly contentType?: string;
  readonly preset?: string;
  readonly sample?: string;
  /** The id of a delivery of the running gateway. */
  readonly delivery?: string;
}

export interface TransformInput {
  /** In words: `the sample push of github`. */
  readonly source: string;
  readonly headers: Headers;
  readonly query: Query;
  readonly body: Uint8Array;
  /** The path below the prefix; absent: the mapping's. */
  readonly path?: string;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
  /** The mapping that took it when it came. */
  readonly mappingId?: string | null;
}

/** The source of an input that can be read once. */
export const STANDARD_INPUT = "standard input";
const JSON_TYPE = "application/json";

/** Throws a {@link CliError} when more than one input is named. */
export function checkInputOptions({ payload, preset, sample, delivery, contentType }: InputOptions): void {
  const given = [payload, preset, delivery].filter((each) => each !== undefined);
  if (given.length > 1) throw new CliError("Name one input: --payload, --preset or --delivery.");
  if (sample !== undefined && preset === undefined) throw new CliError("--sample is one of a --preset; name that too.");
  if (contentType !== undefined && payload === undefined) throw new CliError("--content-type is that of a --payload.");
}

/** The input that was named, else what is piped into the command, else an empty object. */
export async function readTransformInput(
  options: InputOptions,
  presets: ReadonlyMap<string, Preset>,
  io: CliIo,
): Promise<TransformInput> {
  if (options.delivery !== undefined) return readDelivery(options.delivery, options, io);
  const receivedAt = Date.now();
  if (options.preset !== undefined) {
    return { ...readSample(presetNamed(presets, options.preset), options.sample), receivedAt };
  }
  const { payload, contentType = JSON_TYPE } = options;
  const headers = { "content-type": contentType };
  if (payload === "-") return { source: STANDARD_INPUT, headers, query: {}, body: await io.readInput(), receivedAt };
  if (payload !== undefined) return { source: payload, headers, query: {}, body: await readFile(payload), receivedAt };
  const body = await io.readPiped();
  if (body !== undefined) return { source: STANDARD_INPUT, headers, query: {}, body, receivedAt };
  return { source: "{}, since none was named", headers, query: {}, body: Buffer.from("{}"), receivedAt };
}

function readSample(preset: Preset, name: string | undefined): Omit<TransformInput, "receivedAt"> {
  const names = Object.keys(preset.samples);
  const chosen = name ?? names[0] ?? "";
  const sample = Object.hasOwn(preset.samples, chosen) ? preset.samples[chosen] : undefined;
  if (!sample) {
    throw new CliError(`The preset ${preset.name} has no sample "${chosen}". It has: ${names.join(", ")}.`);
  }
  const { body, contentType } = sampleBody(sample);
  const written = Object.entries(sample.headers ?? {}).map(([header, value]) => [header.toLowerCase(), value] as const);
  return {
    source: `the sample ${chosen} of ${preset.name}`,
    headers: { "content-type": contentType, ...Object.fromEntries(written) },
    query: sample.query ?? {},
    body,
  };
}

/** Through the gateway, which alone may open its database, and which has left out what is secret. */
async function readDelivery(id: string, options: GatewayCommandOptions, io: CliIo): Promise<TransformInput> {
  const access = await reachGateway(options, io);
  const path = `/deliveries/${encodeURIComponent(id)}`;
  const { headers, query, route, receivedAt, mappingId } = await askGateway<DeliveryDetail>(access, path);
  const body = await askGatewayForBytes(access, `${path}/body`);
  const source = `the delivery ${id}`;
  return { source, headers, query, body, path: route, receivedAt: Date.parse(receivedAt), mappingId };
}
