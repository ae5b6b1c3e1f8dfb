import { useSignal } from "@preact/signals";
import type { JSX, TargetedEvent } from "preact";
import type { BacktestChange, Backtested, BacktestPage, MappingStats } from "../../../index.ts";
import { type DayUse, forecastRuns, type RunForecast } from "../../../ingress/operations/forecast.ts";
import { errorText, read, sendRequest } from "../client.ts";
import { linkTo } from "../location.ts";
import { Problem, Table, Time } from "../parts.tsx";
import { useStoppable } from "../stoppable.ts";

const CHANGES: Readonly<Record<BacktestChange, string>> = {
  same: "as before",
  ended: "would no longer run",
  runs: "would run now",
  mapping: "taken by another mapping",
  content: "rendered differently",
  refused: "would be refused",
  "not-judged": "could not be judged",
};
/** Rows that are shown; the counts are of all. */
const MAX_ROWS = 500;
const PAGE = 200;

interface Stats {
  readonly mappings: readonly MappingStats[];
}

/** Today's configuration, or an edited one, over the stored deliveries of a period. */
export function BacktestView({ filters }: { readonly filters: URLSearchParams }): JSX.Element {
  const forecast = useSignal<readonly RunForecast[]>([]);
  const counts = useSignal<ReadonlyMap<BacktestChange, number>>(new Map());
  const rows = useSignal<readonly Backtested[]>([]);
  const state = useSignal<"idle" | "busy" | "stopped" | "done">("idle");
  const problem = useSignal<string | undefined>(undefined);
  const { begin, stop } = useStoppable();
  const run = async (since: string, edit: string): Promise<void> => {
    state.value = "busy";
    problem.value = undefined;
    counts.value = new Map();
    rows.value = [];
    forecast.value = [];
    const judged: Backtested[] = [];
    const goesOn = begin();
    try {
      let cursor: string | null = null;
      do {
        const body: object = {
          filter: { since },
          limit: PAGE,
          ...(edit === "" ? {} : { edit }),
          ...(cursor === null ? {} : { cursor }),
        };
        const page = await sendRequest<BacktestPage>("deliveries/backtest", body);
        if (!goesOn()) return;
        const counted = new Map(counts.value);
        for (const { change } of page.deliveries) counted.set(change, (counted.get(change) ?? 0) + 1);
        counts.value = counted;
        rows.value = [...rows.value, ...page.deliveries.filter(({ change }) => change !== "same")].slice(0, MAX_ROWS);
        judged.push(...page.deliveries);
        cursor = page.nextCursor;
      } while (cursor !== null);
      const { mappings } = await read<Stats>(`deliveries/stats?${new URLSearchParams({ since }).toString()}`);
      if (!goesOn()) return;
      forecast.value = forecastRuns(judged, mappings);
    } catch (error) {
      if (!goesOn()) return;
      problem.value = errorText(error);
    }
    state.value = "done";
  };
  const halt = (): void => {
    stop();
    state.value = "stopped";
  };
  const submit = (event: TargetedEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const textOf = (name: string): string => {
      const text = form.get(name);
      return typeof text === "string" ? text.trim() : "";
    };
    void run(textOf("since"), textOf("edit"));
  };
  return (
    <>
      <h1>Backtest</h1>
      <p class="faint">
        Judges stored deliveries by the mappings of today, or by an edited configuration. Transforms are called; nothing
        is stored or sent. Budgets, pauses and repeats do not count.
      </p>
      <form onSubmit={submit}>
        <div class="bar">
          <label>
            Since
            <input name="since" defaultValue="7d" required size={12} />
          </label>
          <button type="submit" class="main" disabled={state.value === "busy"}>
            Run
          </button>
          {state.value === "busy" && (
            <button type="button" onClick={halt}>
              Stop
            </button>
          )}
        </div>
        <details open={filters.has("edit")}>
          <summary>Edited configuration</summary>
          <label class="row" for="edit">
            JSON5: a list of mappings with their ids and the keys that change, or a whole hooks block. Empty: today's.
          </label>
          <textarea id="edit" name="edit" spellcheck={false} defaultValue={filters.get("edit") ?? ""} />
        </details>
      </form>
      <Problem text={problem.value} />
      <p role="status">
        {state.value === "busy" && "Judging … "}
        {state.value === "stopped" && "Stopped before the end. "}
        {[...counts.value].map(([change, count]) => `${CHANGES[change]}: ${count}`).join("; ")}
        {state.value === "done" && counts.value.size === 0 && problem.value === undefined && "No delivery fits."}
      </p>
      <Forecast forecast={forecast.value} />
      <Table label="Changes" titles={["Time", "Route", "Name", "Change", "Detail"]}>
        {rows.value.map(({ deliveryId, receivedAt, route, name, change, detail }) => (
          <tr key={deliveryId}>
            <td class="tight">
              <a href={linkTo("deliveries", deliveryId)}>
                <Time at={receivedAt} />
              </a>
            </td>
            <td>{route}</td>
            <td>{name}</td>
            <td>{CHANGES[change]}</td>
            <td>{detail}</td>
          </tr>
        ))}
      </Table>
    </>
  );
}

/** What a day would bring, for the mappings where that differs. */
function Forecast({ forecast }: { readonly forecast: readonly RunForecast[] }): JSX.Element | null {
  const differs = forecast.filter(({ before, now }) => before.runs !== now.runs);
  if (differs.length === 0) return null;
  const cells = ({ runs, tokens, costUsd }: DayUse): JSX.Element[] => [
    <td>{runs.toFixed(runs < 10 ? 1 : 0)}</td>,
    <td>{tokens === 0 ? "" : Math.round(tokens)}</td>,
    <td>{costUsd === 0 ? "" : `$${costUsd.toFixed(4)}`}</td>,
  ];
  return (
    <Table
      label="Forecast"
      caption="In a day, at the rate of this period"
      titles={["Mapping", "Runs", "Tokens", "Cost", "Runs then", "Tokens then", "Cost then"]}
    >
      {differs.map(({ name, before, now }) => (
        <tr key={name}>
          <th scope="row">{name}</th>
          {cells(before)}
          {cells(now)}
        </tr>
      ))}
    </Table>
  );
}
