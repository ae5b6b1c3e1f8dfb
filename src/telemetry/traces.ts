/** Spans of what came in and what it led to, exported over OTLP. */
import { createHash } from "node:crypto";
import { type HrTime, SpanKind, SpanStatusCode, TraceFlags } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { type Resource, resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, type ReadableSpan } from "@opentelemetry/sdk-trace";
import type { DeliveryDetail } from "../core/delivery.ts";
import type { Attempt, RunDetail, RunStep } from "../core/run.ts";
import type { GatewayHost, GatewayPlugin, Logger } from "../core/host.ts";
import { readTraceparent } from "../core/traceparent.ts";
import { settledWithin } from "../core/settled-within.ts";
import { type DeliveryReader, WebhookIngress } from "../index.ts";
import { OWN_VERSION } from "./own-version.ts";
import { ReportingExporter } from "./reporting-exporter.ts";

export interface TraceSettings {
  /** Of the collector; `/v1/traces` follows it. Absent, with the headers: what the `OTEL_*` variables say. */
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Share of the deliveries that are traced: 0 to 1. */
  readonly ratio: number;
}

export interface TraceExportOptions extends TraceSettings {
  readonly deliveries: () => DeliveryReader;
  readonly logger: Logger;
}

const NAME = "reveille traces";
/** Deliveries that are read at once; with more, further ones are left out. */
const MAX_READS = 100;
/** For the last spans, when the gateway stops. */
const LAST_SPANS_MS = 2_000;
const SCOPE = { name: "reveille", version: OWN_VERSION };

/**
 * Makes spans of what the store has, so that a run has its place in the caller's trace also in a later process, and
 * a request costs nothing for it: one span for the call, one for each run, each attempt with its call of the model,
 * and each step after the reply.
 *
 * Ids come from the delivery's, and the caller's `traceparent` counts only once the call was accepted, which is after
 * it was verified. Prompts, replies and session keys are in no span.
 */
export class TraceExport implements GatewayPlugin {
  readonly #options: TraceExportOptions;
  readonly #processor: BatchSpanProcessor;
  readonly #resource: Resource;
  readonly #reads = new Set<Promise<void>>();
  #left = 0;

  constructor(options: TraceExportOptions) {
    const { url, headers } = options;
    this.#options = options;
    this.#resource = resourceFromAttributes({ "service.name": "reveille", "service.version": OWN_VERSION });
    const target = url === undefined ? {} : { url: `${url.replace(/\/+$/u, "")}/v1/traces`, headers: { ...headers } };
    const exporter = new ReportingExporter(new OTLPTraceExporter(target), options.logger);
    this.#processor = new BatchSpanProcessor({ exporter });
  }

  apply(host: GatewayHost): void {
    const hooks = WebhookIngress.hooks(host);
    hooks.accepted.tap(NAME, ({ deliveryId }) => {
      const endedAt = host.clock.now();
      this.#trace(deliveryId, (delivery) => [callSpan(delivery, endedAt)]);
    });
    hooks.settled.tap(NAME, ({ runId }) => {
      const endedAt = host.clock.now();
      this.#trace(deliveryOf(runId), (delivery) => runSpans(delivery, runId, endedAt));
    });
  }

  /** Sends what is left, within two seconds: a collector that is gone must not hold up the end. Never rejects. */
  async close(): Promise<void> {
    const { logger } = this.#options;
    if (this.#left > 0) logger.warn({ deliveries: this.#left }, "spans were left out, too many at once");
    let isDone = false;
    const sent = Promise.all(this.#reads)
      .then(() => this.#processor.shutdown())
      .catch((error: unknown) => {
        // A failure that comes later is a consequence of what is logged below.
        if (!isDone) logger.warn({ err: error }, "the last spans could not be sent");
      })
      .then(() => (isDone = true));
    await settledWithin(sent, LAST_SPANS_MS);
    if (isDone) return;
    isDone = true;
    logger.warn({}, "the last spans could not be sent in time");
  }

  #trace(deliveryId: string, spansOf: SpansOf): void {
    if (!isTraced(deliveryId, this.#options.ratio)) return;
    if (this.#reads.size >= MAX_READS) {
      this.#left++;
      return;
    }
    const reading = this.#read(deliveryId, spansOf).finally(() => this.#reads.delete(reading));
    this.#reads.add(reading);
  }

  /** Never rejects. */
  async #read(deliveryId: string, spansOf: SpansOf): Promise<void> {
    try {
      const delivery = await this.#options.deliveries().get(deliveryId);
      if (delivery === undefined) return;
      for (const span of spansOf(delivery)) this.#processor.onEnd(readable(span, delivery, this.#resource));
    } catch (error) {
      this.#options.logger.debug({ err: error, deliveryId }, "a delivery could not be traced");
    }
  }
}

type SpansOf = (delivery: DeliveryDetail) => readonly OwnSpan[];

interface OwnSpan {
  /** What its id is made from. */
  readonly key: string;
  /** The key of the span above; `undefined`: the caller's own, if it sent one. */
  readonly parent: string | undefined;
  readonly name: string;
  readonly kind: SpanKind;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly error: string | undefined;
  readonly attributes: Readonly<Record<string, string | number | undefined>>;
}

function callSpan({ id, route, mappingId, state, receivedAt, event }: DeliveryDetail, endedAt: number): OwnSpan {
  return {
    key: id,
    parent: undefined,
    name: `POST ${route}`,
    kind: SpanKind.SERVER,
    startedAt: Date.parse(receivedAt),
    endedAt,
    error: undefined,
    attributes: {
      "http.request.method": "POST",
      "http.route": route,
      "reveille.delivery.id": id,
      "reveille.delivery.state": state,
      "reveille.mapping.id": mappingId ?? undefined,
      "reveille.event": event ?? undefined,
    },
  };
}

function runSpans(delivery: DeliveryDetail, runId: string, endedAt: number): readonly OwnSpan[] {
  const run = delivery.runs.find(({ id }) => id === runId);
  if (run === undefined) return [];
  const { state, reason, spec } = run;
  const own: OwnSpan = {
    key: runId,
    parent: delivery.id,
    name: `run ${delivery.mappingId ?? delivery.route}`,
    kind: SpanKind.INTERNAL,
    startedAt: Date.parse(delivery.receivedAt),
    endedAt,
    error: state === "failed" ? (reason ?? state) : undefined,
    attributes: { "reveille.run.id": runId, "reveille.run.state": state, "gen_ai.agent.id": spec.agentId },
  };
  return [own, ...run.attempts.flatMap((attempt) => attemptSpans(run, attempt, endedAt)), ...stepSpans(run)];
}

const STEP_SPANS = {
  summarized: "summary",
  delivered: "reply",
  heartbeat: "heartbeat",
  "called-back": "callback",
  released: "release",
} as const satisfies Record<RunStep, string>;

/** A step begins when what is before it has ended. */
function stepSpans({ id, steps, attempts, spec, delivery }: RunDetail): OwnSpan[] {
  let before = attempts.at(-1)?.endedAt;
  return steps.map(({ step, at }) => {
    const startedAt = Date.parse(before ?? at);
    before = at;
    const target = step === "delivered" && spec.kind === "agent" ? spec.delivery : undefined;
    return {
      key: `${id}:${step}`,
      parent: id,
      name: STEP_SPANS[step],
      kind: step === "delivered" || step === "called-back" ? SpanKind.CLIENT : SpanKind.INTERNAL,
      startedAt,
      endedAt: Date.parse(at),
      error: step === "delivered" && (delivery === "failed" || delivery === "no-target") ? delivery : undefined,
      attributes: {
        "reveille.reply.outcome": step === "delivered" ? delivery : undefined,
        "reveille.reply.channel": target !== undefined && "channel" in target ? target.channel : undefined,
      },
    };
  });
}

function attemptSpans({ id, spec }: RunDetail, attempt: Attempt, settledAt: number): OwnSpan[] {
  const { number, startedAt, endedAt, status, error, usage } = attempt;
  const counted = {
    "gen_ai.request.model": usage?.model,
    "gen_ai.usage.input_tokens": usage?.inputTokens,
    "gen_ai.usage.output_tokens": usage?.outputTokens,
  };
  const own: OwnSpan = {
    key: `${id}:${number}`,
    parent: id,
    name: `invoke_agent ${spec.agentId}`,
    kind: SpanKind.INTERNAL,
    startedAt: Date.parse(startedAt),
    endedAt: endedAt === null ? settledAt : Date.parse(endedAt),
    error: status === "ok" ? undefined : (error ?? status),
    attributes: {
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.id": spec.agentId,
      ...counted,
      "reveille.attempt.status": status,
    },
  };
  if (usage?.model === undefined) return [own];
  const chat: OwnSpan = {
    ...own,
    key: `${id}:${number}:chat`,
    parent: own.key,
    name: `chat ${usage.model}`,
    kind: SpanKind.CLIENT,
    attributes: { "gen_ai.operation.name": "chat", ...counted },
  };
  return [own, chat];
}

function readable(span: OwnSpan, { id, headers }: DeliveryDetail, resource: Resource): ReadableSpan {
  const caller = readTraceparent(headers["traceparent"]);
  const traceId = caller?.traceId ?? digits(id, 32);
  const context = (spanId: string) => ({ traceId, spanId, traceFlags: TraceFlags.SAMPLED });
  const parent = span.parent === undefined ? caller?.spanId : digits(span.parent, 16);
  const written = Object.entries(span.attributes).filter(([, value]) => value !== undefined);
  return {
    name: span.name,
    kind: span.kind,
    spanContext: () => context(digits(span.key, 16)),
    ...(parent === undefined ? {} : { parentSpanContext: context(parent) }),
    startTime: hrTime(span.startedAt),
    endTime: hrTime(Math.max(span.startedAt, span.endedAt)),
    duration: hrTime(Math.max(0, span.endedAt - span.startedAt)),
    status:
      span.error === undefined ? { code: SpanStatusCode.UNSET } : { code: SpanStatusCode.ERROR, message: span.error },
    attributes: Object.fromEntries(written),
    links: [],
    events: [],
    ended: true,
    resource,
    instrumentationScope: SCOPE,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

/** The same for the same key in every process. */
function digits(key: string, count: number): string {
  return createHash("sha256").update(key).digest("hex").slice(0, count);
}

/** The same for a delivery and all of its runs. */
function isTraced(deliveryId: string, ratio: number): boolean {
  return ratio >= 1 || Number.parseInt(digits(`sampled:${deliveryId}`, 8), 16) < ratio * 0x1_00_00_00_00;
}

function hrTime(ms: number): HrTime {
  return [Math.floor(ms / 1_000), Math.round((ms % 1_000) * 1e6)];
}

/** `run_<id>_<index>` is a run of `dlv_<id>`. */
function deliveryOf(runId: string): string {
  return `dlv_${runId.slice("run_".length, runId.lastIndexOf("_"))}`;
}
