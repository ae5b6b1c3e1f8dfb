import { useSignal } from "@preact/signals";
import type { JSX, TargetedEvent } from "preact";
import type { BacktestChange, Backtested, BacktestPage as Page } from "../../../index.ts";
import { messageOf, send } from "../client.ts";
import { linkTo } from "../location.ts";
import { Problem, Time } from "../parts.tsx";

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

/** Today's configuration over the stored deliveries of a period. */
export function BacktestPage(): JSX.Element {
  const counts = useSignal<ReadonlyMap<BacktestChange, number>>(new Map());
  const rows = useSignal<readonly Backtested[]>([]);
  const state = useSignal<"idle" | "busy" | "done">("idle");
  const problem = useSignal<string | undefined>(undefined);
  const run = async (since: string): Promise<void> => {
    state.value = "busy";
    problem.value = undefined;
    counts.value = new Map();
    rows.value = [];
    try {
      let cursor: string | null = null;
      do {
        const body: object = { filter: { since }, ...(cursor === null ? {} : { cursor }) };
        const page: Page = await send<Page>("deliveries/backtest", body);
        const counted = new Map(counts.value);
        for (const { change } of page.deliveries) counted.set(change, (counted.get(change) ?? 0) + 1);
        counts.value = counted;
        rows.value = [...rows.value, ...page.deliveries.filter(({ change }) => change !== "same")].slice(0, MAX_ROWS);
        cursor = page.nextCursor;
      } while (cursor !== null);
    } catch (error) {
      problem.value = messageOf(error);
    }
    state.value = "done";
  };
  const submit = (event: TargetedEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const since = new FormData(event.currentTarget).get("since");
    void run(typeof since === "string" ? since : "");
  };
  return (
    <>
      <h1>Backtest</h1>
      <p class="faint">
        Judges stored deliveries by the mappings of today. Transforms are called; nothing is stored or sent. Budgets,
        pauses and repeats do not count.
      </p>
      <form class="bar" onSubmit={submit}>
        <label>
          Since
          <input name="since" defaultValue="7d" required size={12} />
        </label>
        <button type="submit" class="main" disabled={state.value === "busy"}>
          Run
        </button>
      </form>
      <Problem text={problem.value} />
      <p role="status">
        {state.value === "busy" && "Judging … "}
        {[...counts.value].map(([change, count]) => `${CHANGES[change]}: ${count}`).join("; ")}
        {state.value === "done" && counts.value.size === 0 && problem.value === undefined && "No delivery fits."}
      </p>
      <div class="scroll" tabIndex={0} role="region" aria-label="Changes">
        <table>
          <thead>
            <tr>
              {["Time", "Route", "Name", "Change", "Detail"].map((title) => (
                <th key={title} scope="col">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
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
          </tbody>
        </table>
      </div>
    </>
  );
}
