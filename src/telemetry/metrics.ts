/** What the ingress measures of itself, in the text format of Prometheus. */
import type * as Client from "@prometheus-io/client";
import { ERRORS } from "../core/errors.ts";
import type { Clock } from "../core/host.ts";
import type { Counts, Histogram } from "../core/measurements.ts";
import type { RunSpec, SettledState } from "../core/run.ts";
import { OWN_VERSION } from "./own-version.ts";
import { type BudgetUse, budgetParts } from "../core/budget-use.ts";
import type { GaugeOperations, Gauges, HookStates } from "../index.ts";

/** One line of a metric. */
interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  /** With the end that parts of a histogram have. */
  readonly metricName?: string;
}

interface Measured {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly values: readonly Sample[];
}

export interface MetricsSources {
  /** Throws a `StoreError` while the ingress does not run. */
  readonly gauges: () => GaugeOperations;
  readonly clock: Clock;
}

/** The metrics as a scrape gets them; the client library is loaded by the first one. */
export class Metrics {
  readonly #sources: MetricsSources;
  readonly #build = { version: OWN_VERSION, node: process.versions.node };

  constructor(sources: MetricsSources) {
    this.#sources = sources;
  }

  /** Rejects with a `StoreError` while the store cannot be read. */
  async text(): Promise<{ readonly contentType: string; readonly text: string }> {
    const gauges = this.#sources.gauges();
    const [{ Registry }, now] = await Promise.all([import("@prometheus-io/client"), gauges.read()]);
    const registry: Client.Registry = new Registry();
    for (const measured of [...this.#counted(gauges), ...this.#current(now)]) {
      const get = async (): Promise<Measured> => measured;
      registry.registerMetric({ ...measured, get } as unknown as Client.Metric);
    }
    return { contentType: registry.contentType, text: await registry.metrics() };
  }

  #counted({ measurements, commits }: GaugeOperations): readonly Measured[] {
    return [
      counter("reveille_deliveries_total", "Accepted calls by route and state.", measurements.deliveries, [
        "route",
        "state",
      ]),
      counter("reveille_refusals_total", "Refused requests by error code.", measurements.refusals, ["code"], CODES),
      histogram(
        "reveille_accept_duration_seconds",
        "Time from the start of an accepted request until its delivery is on disk.",
        measurements.acceptSeconds,
      ),
      histogram("reveille_transform_duration_seconds", "Calls of transforms.", measurements.transformSeconds, [
        "mapping",
      ]),
      histogram("reveille_attempt_duration_seconds", "Attempts of agent runs.", measurements.attemptSeconds, [
        "agent",
        "status",
      ]),
      counter(
        "reveille_runs_settled_total",
        "Runs that ended, by kind and state.",
        measurements.settled,
        ["kind", "state"],
        ENDS,
      ),
      counter("reveille_replies_total", "Tries to send a reply, by channel and outcome.", measurements.replies, [
        "channel",
        "outcome",
      ]),
      counter("reveille_hidden_total", "What no one sees and was taken out of accepted texts.", measurements.hidden, [
        "kind",
      ]),
      counter("reveille_tokens_total", "Tokens of agent runs, where the host knows them.", measurements.tokens, [
        "agent",
        "kind",
      ]),
      counter("reveille_cost_dollars_total", "Cost of agent runs, where the host knows it.", measurements.dollars, [
        "agent",
      ]),
      histogram("reveille_commit_batch_size", "Writes that shared one commit.", commits.size),
      histogram("reveille_commit_duration_seconds", "Commits, their fsync included.", commits.seconds),
      gauge("reveille_wal_bytes", "Bytes of the write-ahead log after the latest commit.", [
        { labels: {}, value: commits.logBytes },
      ]),
    ];
  }

  #waiting(backlog: NonNullable<Gauges["backlog"]>): readonly Measured[] {
    const { oldestQueuedAt } = backlog;
    const ageMs = oldestQueuedAt === null ? 0 : Math.max(0, this.#sources.clock.now() - oldestQueuedAt);
    const states = (["queued", "running", "held"] as const).map((state) => ({
      labels: { state },
      value: backlog[state],
    }));
    return [
      gauge("reveille_runs", "Open runs by state.", states),
      gauge("reveille_oldest_queued_seconds", "Age of the oldest queued run; 0 when none is queued.", [
        { labels: {}, value: ageMs / 1_000 },
      ]),
    ];
  }

  #current({ backlog, outages, hooks }: Gauges): readonly Measured[] {
    const { user, system } = process.cpuUsage();
    return [
      ...(backlog === undefined ? [] : this.#waiting(backlog)),
      gauge("reveille_paused", "1 for each scope that is paused.", pausesOf(hooks)),
      gauge("reveille_budget_used_ratio", "Used share of each budget; at 1 it is used up.", budgetsOf(hooks)),
      gauge("reveille_outages", "Agents, channels and targets that are out of order.", [
        { labels: {}, value: outages },
      ]),
      gauge("reveille_mappings_broken", "Mappings that are set aside because something in them is wrong.", [
        { labels: {}, value: hooks.mappings.filter(({ broken }) => broken !== null).length },
      ]),
      gauge("reveille_build_info", "1, with the version of Reveille and of Node.", [{ labels: this.#build, value: 1 }]),
      {
        ...gauge("process_cpu_seconds_total", "CPU time of the process.", []),
        type: "counter" as const,
        values: [{ labels: {}, value: (user + system) / 1e6 }],
      },
      gauge("process_resident_memory_bytes", "Resident memory of the process.", [
        { labels: {}, value: process.memoryUsage.rss() },
      ]),
      gauge("process_start_time_seconds", "Start of the process, in seconds since the epoch.", [
        { labels: {}, value: Math.round(performance.timeOrigin) / 1_000 },
      ]),
    ];
  }
}

function gauge(name: string, help: string, values: readonly Sample[]): Measured {
  return { name, help, type: "gauge", values };
}

type Labels = readonly string[];

const CODES: readonly Labels[] = Object.keys(ERRORS).map((code) => [code]);
const KINDS: readonly RunSpec["kind"][] = ["agent", "wake"];
const SETTLED: readonly SettledState[] = ["done", "failed", "canceled", "skipped"];
const ENDS: readonly Labels[] = KINDS.flatMap((kind) => SETTLED.map((state) => [kind, state]));

/**
 * Series that are `known` are there from the start, at 0: Prometheus sees no increase in a series that begins with 1,
 * so that the first failure would raise no alert.
 */
function counter(
  name: string,
  help: string,
  counts: Counts,
  names: readonly string[],
  known: readonly Labels[] = [],
): Measured {
  const series = new Map(known.map((labels) => [labels.join("\n"), { labels, count: 0 }]));
  for (const counted of counts.all()) series.set(counted.labels.join("\n"), counted);
  const values = Array.from(series.values(), ({ labels, count }) => ({
    labels: labelled(names, labels),
    value: count,
  }));
  return { name, help, type: "counter", values };
}

function histogram(name: string, help: string, measured: Histogram, names: readonly string[] = []): Measured {
  const values: Sample[] = [];
  for (const { labels, counts, sum } of measured.all()) {
    const own = labelled(names, labels);
    let total = 0;
    for (const [at, count] of counts.entries()) {
      total += count;
      const le = String(measured.bounds[at] ?? "+Inf");
      values.push({ labels: { ...own, le }, value: total, metricName: `${name}_bucket` });
    }
    values.push({ labels: own, value: sum, metricName: `${name}_sum` });
    values.push({ labels: own, value: total, metricName: `${name}_count` });
  }
  return { name, help, type: "histogram", values };
}

function labelled(names: readonly string[], values: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name, at) => [name, values[at] ?? ""]));
}

function pausesOf({ all, mappings }: HookStates): Sample[] {
  const paused = [all, ...mappings].filter((state) => state.paused !== null);
  return paused.map(({ scope }) => ({ labels: { scope }, value: 1 }));
}

function budgetsOf({ all, mappings }: HookStates): Sample[] {
  return [all, ...mappings].flatMap(({ scope, budget }) => (budget === null ? [] : [...budgetSamples(scope, budget)]));
}

function* budgetSamples(scope: string, budget: BudgetUse): Iterable<Sample> {
  for (const { measure, when, share } of budgetParts(budget)) {
    yield { labels: { scope, measure, per: when === "in an hour" ? "hour" : "day" }, value: share };
  }
}
