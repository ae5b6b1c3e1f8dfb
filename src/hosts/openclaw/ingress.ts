/** The ingress as OpenClaw has it: with its operator's API, its console, what the owner's agents see, and its spans. */
import { DeliveriesApi } from "../../api/deliveries.ts";
import { operatorEndpoints } from "../../api/operator-endpoints.ts";
import type { HttpRoute, Logger } from "../../core/host.ts";
import { WebhookIngress } from "../../index.ts";
import type { TraceExport } from "../../telemetry/traces.ts";
import type { HostStore } from "../shared/open-store.ts";
import { applyConsole, type OpenClawConsoleOptions } from "./console.ts";
import type { OpenClawHost } from "./host.ts";
import { operatorRoute } from "./operator-route.ts";
import { shareDeliveries } from "./owner-access.ts";
import { OwnerDeliveries } from "./owner-deliveries.ts";

/** Makes the export of an ingress's spans. */
export type MakeTraces = (ingress: WebhookIngress) => TraceExport;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Makes the export of spans that the standard variables ask for: `OTEL_EXPORTER_OTLP_ENDPOINT` or
 * `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` names the collector, `OTEL_EXPORTER_OTLP_HEADERS` has its keys and
 * `OTEL_TRACES_SAMPLER_ARG` the share of deliveries that are traced. `undefined` without a collector: the library of the
 * export is not loaded then. Source: OpenTelemetry, "Environment Variable Specification".
 */
export async function openTraces(logger: Logger, env: Environment = process.env): Promise<MakeTraces | undefined> {
  const isNamed = (env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] ?? env["OTEL_EXPORTER_OTLP_ENDPOINT"] ?? "") !== "";
  if (!isNamed || env["OTEL_SDK_DISABLED"] === "true" || env["OTEL_TRACES_EXPORTER"] === "none") return undefined;
  const { TraceExport } = await import("../../telemetry/traces.ts");
  return (ingress) => new TraceExport({ ratio: ratioOf(env), deliveries: () => ingress.deliveries(), logger });
}

function ratioOf({ OTEL_TRACES_SAMPLER_ARG: written = "" }: Environment): number {
  const ratio = written.trim() === "" ? NaN : Number(written);
  return ratio >= 0 && ratio <= 1 ? ratio : 1;
}

/** Applies the ingress, and the export of its spans; the route of its operator's API. */
export function applyIngress(
  host: OpenClawHost,
  options: Pick<OpenClawConsoleOptions, "pluginId" | "config" | "refusal"> & {
    readonly openStore: HostStore["openDeliveryStore"];
    readonly makeTraces: MakeTraces | undefined;
  },
): { readonly route: HttpRoute; readonly traces: TraceExport | undefined } {
  const { openStore, pluginId, config, refusal, makeTraces } = options;
  const ingress = new WebhookIngress({ openStore });
  ingress.apply(host);
  const traces = makeTraces?.(ingress);
  traces?.apply(host);
  const sources = { operations: () => ingress.operations(), clock: host.clock };
  shareDeliveries(new OwnerDeliveries(new DeliveriesApi(sources)));
  const console = applyConsole({ pluginId, host, sources, config, refusal });
  const endpoints = { ...operatorEndpoints(sources), ...console.linkEndpoint() };
  return { route: operatorRoute(pluginId, { endpoints, config }), traces };
}
