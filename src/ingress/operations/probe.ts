import type { Preset } from "../../presets/preset.ts";
import { signSample } from "../../presets/sign-sample.ts";
import type { MappingConfig } from "../../config/mapping/schema.ts";
import { reasonOf } from "../../core/reason-of.ts";
import type { ActiveConfig } from "../active-config.ts";
import type { IngressContext } from "../context.ts";
import { PROBE_HEADER } from "../probes.ts";
import type { ProbeAnswer } from "../stages/probe.ts";
import { UnknownScopeError } from "./hooks.ts";

const TIMEOUT_MS = 15_000;
const MAX_ANSWER_CHARS = 10_000;

/** The outcome of a probe. */
export interface ProbeResult {
  readonly mapping: string;
  /** True when the sample came as far as the mapping. */
  readonly ok: boolean;
  /** `null` when nothing could be sent. */
  readonly url: string | null;
  readonly status: number | null;
  /** The state in which the call would have been accepted. */
  readonly outcome: string | null;
  /** In words for the operator. */
  readonly detail: string;
  readonly ms: number;
}

/** Sends signed samples to the public URL, to see whether a sender's calls would arrive. */
export class ProbeOperations {
  readonly #ingress: IngressContext;
  readonly #active: () => ActiveConfig;

  constructor({ ingress, active }: { readonly ingress: IngressContext; readonly active: () => ActiveConfig }) {
    this.#ingress = ingress;
    this.#active = active;
  }

  /** The mappings that can be probed: they have a route of their own and the key that signs. */
  get probeable(): readonly string[] {
    const { mappings } = this.#active().config;
    return mappings.filter((mapping) => typeof this.#request(mapping) !== "string").map(({ id }) => id);
  }

  /** Never stores or runs anything. Rejects with an {@link UnknownScopeError}. */
  async probe(mappingId: string): Promise<ProbeResult> {
    const mapping = this.#active().config.mappings.find(({ id }) => id === mappingId);
    if (mapping === undefined) throw new UnknownScopeError(`There is no mapping ${JSON.stringify(mappingId)}.`);
    const request = this.#request(mapping);
    const nothing = { mapping: mappingId, ok: false, url: null, status: null, outcome: null, ms: 0 };
    if (typeof request === "string") return { ...nothing, detail: request };
    const startMs = performance.now();
    const result = { ...nothing, url: request.url };
    try {
      const response = await fetch(request.url, {
        method: "POST",
        headers: { ...request.headers, [PROBE_HEADER]: this.#ingress.probes.open() },
        body: new Uint8Array(request.body),
        redirect: "manual",
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      const text = (await response.text()).slice(0, MAX_ANSWER_CHARS);
      const ms = Math.round(performance.now() - startMs);
      return { ...result, ...judge(response.status, text, mappingId), status: response.status, ms };
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      const ms = Math.round(performance.now() - startMs);
      return { ...result, detail: `it cannot be reached: ${reasonOf(cause)}`, ms };
    }
  }

  /** Why there is none, in words for the operator. */
  #request(mapping: MappingConfig) {
    const { config, presets } = this.#active();
    const { publicUrl, path, tokens } = config;
    if (mapping.broken !== undefined) return `it is set aside: ${mapping.broken}`;
    if (publicUrl === undefined) return "hooks.publicUrl is not set; set it to the address that senders call";
    if (!mapping.match.path) return "it has no path of its own";
    const sample = sampleOf(presets.get(mapping.preset ?? ""), mapping);
    const url = `${publicUrl}${path}/${mapping.match.path}`;
    const now = this.#ingress.host.clock.now();
    return signSample({ mapping, sample, url, token: tokens[0], now }) ?? "only its sender has the key that signs";
  }
}

function sampleOf(preset: Preset | undefined, { match }: MappingConfig) {
  const [first] = Object.values(preset?.samples ?? {});
  return first ?? { payload: match.source ? { source: match.source } : {} };
}

function judge(status: number, text: string, mappingId: string): Pick<ProbeResult, "ok" | "outcome" | "detail"> {
  const answer = parse(text);
  if (status === 200 && answer?.probe === true) {
    const { outcome, reason, mappingId: taken } = answer;
    const why = reason === null ? "" : ` (${reason})`;
    const detail =
      taken === mappingId
        ? `it arrives, and would be ${outcome}${why}`
        : `it arrives, and is taken by ${taken ?? "no mapping"}`;
    return { ok: taken === mappingId && outcome !== "failed", outcome, detail };
  }
  const said = answer?.code ?? text.slice(0, 200).trim();
  const detail =
    answer?.code === undefined
      ? `another server answers ${status}: ${said}; check the proxy in front of the gateway`
      : `it is refused with ${status} ${said}`;
  return { ok: false, outcome: null, detail };
}

function parse(text: string): (Partial<ProbeAnswer> & ProbeAnswer & { readonly code?: string }) | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === "object" && parsed !== null ? (parsed as ReturnType<typeof parse>) : undefined;
  } catch {
    return undefined;
  }
}
