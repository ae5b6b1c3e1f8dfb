import { useSignal } from "@preact/signals";
import type { JSX, TargetedEvent } from "preact";
import type { DeliverySummary } from "../../../core/delivery.ts";
import { STATES } from "../../../core/run.ts";
import type { HookStates } from "../../../index.ts";
import { useData } from "../data.ts";
import { linkTo } from "../location.ts";
import { durationText, PageLinks, Problem, StateMark, Table, Time } from "../parts.tsx";
import { BulkBar } from "./bulk.tsx";

interface Page {
  readonly deliveries: readonly DeliverySummary[];
  readonly nextCursor: string | null;
}

const FILTERS = ["state", "route", "actor", "level", "chain", "since", "until", "text", "open"] as const;
const LIMIT = "50";

/** One line for each delivery. The filters are in the URL, so that a list can be kept as a link. */
export function DeliveriesView({ filters }: { readonly filters: URLSearchParams }): JSX.Element {
  const written = Object.fromEntries(FILTERS.map((name) => [name, filters.get(name) ?? ""])) as Record<
    (typeof FILTERS)[number],
    string
  >;
  const cursor = filters.get("cursor") ?? "";
  const query = new URLSearchParams(
    Object.entries({ ...written, cursor, limit: LIMIT }).filter(([, value]) => value !== ""),
  ).toString();
  return (
    <>
      <h1>Deliveries</h1>
      <FilterForm written={written} />
      <List key={query} query={query} written={written} cursor={cursor} />
    </>
  );
}

function FilterForm({ written }: { readonly written: Readonly<Record<string, string>> }): JSX.Element {
  const apply = (event: TargetedEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const fields: Record<string, string> = {};
    for (const [name, value] of form) fields[name] = typeof value === "string" ? value.trim() : "";
    // A state that no open failure has asks for others.
    if (["", "failed"].includes(fields["state"] ?? "")) fields["open"] = written["open"] ?? "";
    location.hash = linkTo("deliveries", "", fields);
  };
  const field = (name: string, label: string, hint = ""): JSX.Element => (
    <label>
      {label}
      <input key={written[name]} name={name} defaultValue={written[name] ?? ""} placeholder={hint} size={12} />
    </label>
  );
  return (
    <form class="bar" onSubmit={apply} role="search" aria-label="Filter deliveries">
      <label>
        State
        <select key={written.state} name="state" defaultValue={written.state ?? ""}>
          <option value="">any</option>
          {STATES.map((state) => (
            <option key={state} value={state} selected={state === written.state}>
              {state}
            </option>
          ))}
        </select>
      </label>
      {field("route", "Route")}
      {field("actor", "Actor")}
      {field("level", "Level", "unknown")}
      {field("chain", "Chain", "dlv_…")}
      {field("since", "Since", "2h")}
      {field("until", "Until", "30m")}
      {field("text", "Text")}
      <button type="submit" class="main">
        Filter
      </button>
      <a href={linkTo("deliveries", "", { open: "true" })} aria-current={written.open === "true" ? "page" : undefined}>
        Open failures
      </a>
      <a href={linkTo("deliveries")}>All</a>
    </form>
  );
}

interface ListProps {
  readonly query: string;
  readonly written: Readonly<Record<string, string>>;
  readonly cursor: string;
}

/** New deliveries wait behind a link: the rows that are being read stay where they are. */
function List({ query, written, cursor }: ListProps): JSX.Element {
  const { body, problem, reload } = useData<Page>(`deliveries?${query}`);
  const shown = useSignal<Page | undefined>(undefined);
  const chosen = useSignal<ReadonlySet<string>>(new Set());
  shown.value ??= body.value;
  const below = useData<Page>(pageFrom(query, shown.value, body.value));
  const latest = body.value ?? shown.value;
  if (shown.value === undefined || latest === undefined) {
    return problem.value === undefined ? <p role="status">Reading …</p> : <Problem text={problem.value} />;
  }
  const byId = new Map([...(below.body.value?.deliveries ?? []), ...latest.deliveries].map((each) => [each.id, each]));
  const rows = shown.value.deliveries.map((delivery) => byId.get(delivery.id) ?? delivery);
  const known = new Set(rows.map(({ id }) => id));
  const isRead = below.path === undefined || below.body.value !== undefined;
  const fresh = latest.deliveries.filter(({ id }) => !known.has(id)).length;
  const show = (): void => {
    shown.value = latest;
  };
  const showAgain = async (): Promise<void> => {
    chosen.value = new Set();
    await reload();
    shown.value = undefined;
  };
  const { nextCursor } = shown.value;
  return (
    <>
      <Problem text={problem.value} />
      <BulkBar ids={[...chosen.value]} filter={written} onDone={() => void showAgain()} />
      <div role="status">
        {fresh > 0 && (
          <button type="button" onClick={show}>
            Show {fresh === Number(LIMIT) ? `${LIMIT} or more` : fresh} new
          </button>
        )}
      </div>
      <Rows
        rows={rows}
        gone={isRead ? rows.filter(({ id }) => !byId.has(id)) : []}
        chosen={chosen.value}
        choose={(ids) => (chosen.value = ids)}
      />
      {rows.length === 0 && <p>{nextCursor === null ? "No delivery fits." : "None of the latest fits."}</p>}
      <PageLinks page="deliveries" filters={written} cursor={cursor} next={nextCursor}>
        Older deliveries
      </PageLinks>
    </>
  );
}

/** Where rows are read again that the latest page does not have; `undefined`: it has all. */
function pageFrom(query: string, shown: Page | undefined, latest: Page | undefined): string | undefined {
  const [first] = shown?.deliveries ?? [];
  const ids = new Set(latest?.deliveries.map(({ id }) => id));
  if (first === undefined || latest === undefined || shown?.deliveries.every(({ id }) => ids.has(id))) return undefined;
  const until = new Date(Date.parse(first.receivedAt) + 1).toISOString();
  // More than the rows, since others may have arrived in the same millisecond.
  const written = Object.fromEntries(new URLSearchParams(query));
  delete written["cursor"];
  return `deliveries?${new URLSearchParams({ ...written, until, limit: "200" }).toString()}`;
}

interface RowsProps {
  readonly rows: readonly DeliverySummary[];
  /** Those that the filter no longer takes, or that were purged. */
  readonly gone: readonly DeliverySummary[];
  readonly chosen: ReadonlySet<string>;
  readonly choose: (ids: ReadonlySet<string>) => void;
}

function Rows({ rows, gone, chosen, choose }: RowsProps): JSX.Element {
  const hooks = useData<HookStates>("hooks", { live: false });
  // Where a mapping has no preset, its route says who the sender is.
  const senders = new Map(hooks.body.value?.mappings.map(({ scope, preset }) => [scope, preset]));
  const isAll = rows.length > 0 && rows.every(({ id }) => chosen.has(id));
  const toggle = (id: string): void => {
    choose(chosen.has(id) ? new Set([...chosen].filter((each) => each !== id)) : new Set([...chosen, id]));
  };
  return (
    <Table
      label="Deliveries"
      titles={["Time", "State", "Route", "Sender", "Name", "Event", "Actor", "Reason", "Duration", "Answer"]}
      box={
        <input
          type="checkbox"
          aria-label="Select all on this page"
          checked={isAll}
          onChange={() => choose(isAll ? new Set() : new Set(rows.map(({ id }) => id)))}
        />
      }
    >
      {rows.map((delivery) => (
        <tr key={delivery.id}>
          <td class="box">
            <input
              type="checkbox"
              aria-label={`Select ${delivery.id}`}
              checked={chosen.has(delivery.id)}
              onChange={() => toggle(delivery.id)}
            />
          </td>
          <td class="tight">
            <a href={linkTo("deliveries", delivery.id)}>
              <Time at={delivery.receivedAt} />
            </a>
          </td>
          <td class="tight">
            {gone.includes(delivery) ? "no longer here" : <StateMark state={delivery.state} />}
            {delivery.replayedAs !== undefined && <span class="faint"> replay {delivery.replayedAs.state}</span>}
          </td>
          <td>{delivery.route}</td>
          <td>{delivery.mappingId !== null && senders.get(delivery.mappingId)}</td>
          <td>{delivery.name}</td>
          <td>{delivery.event}</td>
          <td>
            {delivery.actor}
            {delivery.level !== null && <span class="faint"> {delivery.level}</span>}
          </td>
          <td>{delivery.reason}</td>
          <td class="tight">
            {delivery.settledAt !== undefined && durationText(delivery.receivedAt, delivery.settledAt)}
          </td>
          <td>{delivery.answered}</td>
        </tr>
      ))}
    </Table>
  );
}
