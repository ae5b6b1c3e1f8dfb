/** `telemetry`: who reads the metrics, and where spans go. */
import { randomUUID } from "node:crypto";
import Type, { type Static } from "typebox";
import { secrets, text, withDefault } from "../../../config/schema-parts.ts";
import { readSecrets } from "../../../config/secrets.ts";
import type { TraceSettings } from "../../../telemetry/traces.ts";
import { type EndpointContext, readHeaders, requireUrl } from "./endpoint.ts";

export const TelemetrySchema = Type.Object(
  {
    otlp: Type.Optional(
      Type.Object(
        {
          url: text({ description: "URL of an OpenTelemetry collector; `/v1/traces` follows it." }),
          headers: Type.Optional(
            Type.Record(Type.String(), secrets("Value of the header."), {
              description: "Headers of every export, such as a key.",
            }),
          ),
          ratio: withDefault(
            Type.Number({ minimum: 0, maximum: 1, description: "Share of the deliveries that are traced." }),
            1,
          ),
        },
        {
          additionalProperties: false,
          description: "Traces, exported over OTLP/HTTP. Read at the start of the gateway.",
        },
      ),
    ),
    metrics: Type.Optional(
      Type.Object(
        {
          token: Type.Optional(
            secrets(
              "What a scrape of `/metrics` carries as bearer. Absent: only this machine itself can read it, and not through a proxy.",
            ),
          ),
        },
        { additionalProperties: false, description: "`GET /metrics`, for Prometheus." },
      ),
    ),
  },
  { additionalProperties: false, description: "What the gateway tells of itself." },
);

export interface TelemetryConfig {
  /** Any of them opens `/metrics` (rotation); empty: whoever asks from this machine may read it. */
  readonly metricsTokens: readonly string[];
  /** Where spans are sent; `undefined`: nowhere. */
  readonly otlp: TraceSettings | undefined;
}

/** What a missing secret leaves of the section. */
interface TelemetrySetAside {
  /** Makes warnings of the missing secrets among the issues since `from`; true when there are any. */
  readonly isMissing: (from: number, outcome: string) => boolean;
  /** The tokens of the configuration that is active now. */
  readonly tokensBefore: readonly string[];
}

/** Fills in defaults and resolves secrets; what is wrong goes to the findings. */
export function readTelemetry(
  written: Static<typeof TelemetrySchema> | undefined,
  context: EndpointContext,
  { isMissing, tokensBefore }: TelemetrySetAside,
): TelemetryConfig {
  const { metrics, otlp } = written ?? {};
  const { sources, findings } = context;
  const start = findings.issues.length;
  const traces = otlp && readOtlp(otlp, context);
  const isUnsent = isMissing(start, "no traces are exported");
  const found = findings.issues.length;
  const tokens =
    metrics?.token === undefined ? [] : readSecrets(metrics.token, "telemetry.metrics.token", sources, findings);
  const metricsTokens = tokens.map(({ value }) => value);
  // Without any token, whoever is on this machine could read them.
  const [kept, outcome] = tokensBefore.length > 0 ? [tokensBefore, "the one before stays"] : [[randomUUID()], CLOSED];
  const isLost = isMissing(found, outcome) && metricsTokens.length === 0;
  return { metricsTokens: isLost ? kept : metricsTokens, otlp: isUnsent ? undefined : traces };
}

const CLOSED = "it opens /metrics once it can be read";

function readOtlp(
  { url, headers = {}, ratio = 1 }: NonNullable<Static<typeof TelemetrySchema>["otlp"]>,
  context: EndpointContext,
): TraceSettings {
  requireUrl(url, "telemetry.otlp.url", context);
  return { url, headers: readHeaders(headers, ["telemetry", "otlp", "headers"], context), ratio };
}
