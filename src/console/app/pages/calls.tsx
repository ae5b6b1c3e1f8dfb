import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { State } from "../../../core/run.ts";
import type { StatsRow } from "../../../index.ts";
import { useData } from "../data.ts";
import { Problem, Table } from "../parts.tsx";

/** The answer of `deliveries/stats` with a span; see `src/api/stats.ts`. */
interface Stats {
  /** ISO 8601 UTC, by the gateway's clock: that of the browser may be another. */
  readonly until: string;
  readonly spanSeconds: number;
  readonly rows: readonly StatsRow[];
  readonly refused: readonly { readonly at: number; readonly count: number }[];
}

/** Counts of many deliveries are kept for a while, so that a change may show only in the next answer. */
export const STATS_EVERY_MS = 10_000;

interface Span {
  readonly at: number;
  readonly failed: number;
  /** Those that wait or run now. */
  readonly queued: number;
  readonly others: number;
  readonly refused: number;
}

const OPEN: ReadonlySet<State> = new Set(["queued", "running", "held"]);
/** From the bottom of a bar to its top. */
const PARTS = ["failed", "queued", "others", "refused"] as const;

const PERIODS = {
  hour: { title: "The last hour", path: "deliveries/stats?since=1h&span=1m", spans: 60, unit: "minute" },
  day: { title: "The last day", path: "deliveries/stats?since=24h&span=1h", spans: 24, unit: "hour" },
} as const;

/** What was accepted, failed, still waits and was refused in the last hour or day, as a chart with its numbers behind it. */
export function Calls(): JSX.Element {
  const period = useSignal<keyof typeof PERIODS>("hour");
  const { path, spans, unit } = PERIODS[period.value];
  const { body, problem } = useData<Stats>(path, { everyMs: STATS_EVERY_MS });
  return (
    <>
      <div class="bar" role="group" aria-label="Period">
        {(["hour", "day"] as const).map((each) => (
          <button key={each} type="button" aria-pressed={period.value === each} onClick={() => (period.value = each)}>
            {PERIODS[each].title}
          </button>
        ))}
      </div>
      <Problem text={problem.value} />
      {body.value !== undefined && <Chart spans={spansOf(body.value, spans)} unit={unit} />}
    </>
  );
}

function spansOf({ until, spanSeconds, rows, refused }: Stats, count: number): readonly Span[] {
  const spanMs = spanSeconds * 1_000;
  const now = Math.floor(Date.parse(until) / spanMs);
  return Array.from({ length: count }, (_, index): Span => {
    const at = (now - count + 1 + index) * spanMs;
    const own = rows.filter((row) => row.at === at);
    const sum = (some: readonly StatsRow[]): number => some.reduce((total, { deliveries }) => total + deliveries, 0);
    const failed = sum(own.filter(({ state }) => state === "failed"));
    const queued = sum(own.filter(({ state }) => OPEN.has(state)));
    const denied = refused.filter((minute) => minute.at >= at && minute.at < at + spanMs);
    return {
      at,
      failed,
      queued,
      others: sum(own) - failed - queued,
      refused: denied.reduce((total, minute) => total + minute.count, 0),
    };
  });
}

function Chart({ spans, unit }: { readonly spans: readonly Span[]; readonly unit: string }): JSX.Element {
  const heightOf = (span: Span): number => PARTS.reduce((sum, part) => sum + span[part], 0);
  const highest = Math.max(1, ...spans.map(heightOf));
  const total = (key: (typeof PARTS)[number]): number => spans.reduce((sum, span) => sum + span[key], 0);
  return (
    <figure>
      <figcaption>
        {total("others") + total("failed") + total("queued")} accepted, {total("failed")} of them failed and{" "}
        {total("queued")} queued, {total("refused")} refused; at most {highest} in one {unit}. Failed ones are at the
        bottom, then queued ones, refused ones at the top.
      </figcaption>
      <svg class="chart" viewBox={`0 0 ${spans.length * 10} 100`} preserveAspectRatio="none" aria-hidden="true">
        {spans.map((span, index) => {
          let from = 0;
          return (
            <g key={span.at}>
              {PARTS.map((part) => {
                const below = from;
                from += span[part] / highest;
                return <Bar key={part} at={index} from={below} to={from} class={part} />;
              })}
            </g>
          );
        })}
      </svg>
      <details>
        <summary>The numbers</summary>
        <Table label="Calls" titles={["From", "Accepted", "Failed", "Queued", "Refused"]}>
          {spans
            .filter((span) => heightOf(span) > 0)
            .map(({ at, failed, queued, others, refused }) => (
              <tr key={at}>
                <td>{new Date(at).toLocaleTimeString()}</td>
                <td>{failed + queued + others}</td>
                <td>{failed}</td>
                <td>{queued}</td>
                <td>{refused}</td>
              </tr>
            ))}
        </Table>
      </details>
    </figure>
  );
}

interface BarProps {
  readonly at: number;
  /** Shares of the height, from the bottom. */
  readonly from: number;
  readonly to: number;
  readonly class: string;
}

function Bar({ at, from, to, class: name }: BarProps): JSX.Element {
  return <rect class={name} x={at * 10} width={8} y={100 - to * 100} height={(to - from) * 100} fill="currentColor" />;
}
