import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { errorText, read, sendRequest } from "../client.ts";
import { ActionButton, onFirstClick, Problem } from "../parts.tsx";
import { useStoppable } from "../stoppable.ts";

interface BulkAnswer {
  readonly matched: number;
  readonly more: boolean;
  readonly stopped: { readonly error: string } | null;
  readonly deliveries: readonly { readonly id: string; readonly outcome: string; readonly reason?: string }[];
}

interface ListPage {
  readonly deliveries: readonly { readonly id: string }[];
  readonly nextCursor: string | null;
}

type Operation = "replay" | "release" | "cancel" | "purge" | "resolve";

const VERBS: Readonly<Record<Operation, string>> = {
  replay: "Replay",
  release: "Release",
  cancel: "Cancel",
  purge: "Purge",
  resolve: "Resolve",
};
/** Treated by one request: the progress bar moves, and the end can be stopped. */
const AT_ONCE = 25;
/** Deliveries that one request names at most. */
const MAX_NAMED = 1_000;

interface Plan {
  readonly operation: Operation;
  readonly ids: readonly string[];
  readonly skipped: number;
  readonly more: boolean;
}

export interface BulkBarProps {
  /** The selected deliveries; without one, all that fit the filter are meant. */
  readonly ids: readonly string[];
  readonly filter: Readonly<Record<string, string>>;
  readonly onDone: () => void;
}

/** Counts first what an operation would do, and does it after a confirmation. */
export function BulkBar({ ids, filter, onDone }: BulkBarProps): JSX.Element | null {
  const plan = useSignal<Plan | undefined>(undefined);
  const progress = useSignal<{ readonly done: number; readonly of: number } | undefined>(undefined);
  const said = useSignal("");
  const problem = useSignal<string | undefined>(undefined);
  const isBusy = useSignal(false);
  const { begin, stop } = useStoppable();
  const target = targetOf(ids, filter);

  const count = async (operation: Operation): Promise<void> => {
    await guarded(async () => {
      // A replay passes over failures that are no longer open; others would take them as well.
      const goesOn = begin();
      const isOfOpen = ids.length === 0 && filter.open === "true" && operation !== "replay";
      const open = isOfOpen ? await openFailures(filter, goesOn) : undefined;
      if (!goesOn()) return;
      const wanted = open === undefined ? target : { ids: open.ids };
      const answer = await sendRequest<BulkAnswer>(`deliveries/${operation}`, { ...wanted, dryRun: true });
      const planned = answer.deliveries.filter(({ outcome }) => outcome === "planned").map(({ id }) => id);
      const skipped = answer.deliveries.length - planned.length;
      plan.value = { operation, ids: planned, skipped, more: open?.more ?? answer.more };
    });
  };
  const carryOut = async (confirmed: Plan): Promise<void> => {
    const { operation, ids } = confirmed;
    await guarded(async () => {
      const goesOn = begin();
      let changed = 0;
      let emptied = 0;
      const sayDone = (how: string): void => {
        const kept = ` ${emptied} stay listed for now, without a request: the newest delivery, or copies of it could arrive.`;
        said.value = `${how}: ${changed} of ${ids.length} done.${emptied === 0 ? "" : kept}`;
      };
      try {
        for (let at = 0; at < ids.length; at += AT_ONCE) {
          if (!goesOn()) return sayDone("Stopped");
          progress.value = { done: at, of: ids.length };
          const part = ids.slice(at, at + AT_ONCE);
          const { deliveries, stopped } = await sendRequest<BulkAnswer>(`deliveries/${operation}`, { ids: part });
          changed += deliveries.filter(({ outcome }) => !["left", "refused", "unknown"].includes(outcome)).length;
          emptied += deliveries.filter(({ outcome }) => outcome === "emptied").length;
          // What is done is not done again, should the rest fail and be confirmed once more.
          const treated = new Set(deliveries.map(({ id }) => id));
          plan.value = { ...confirmed, ids: ids.slice(at).filter((id) => !treated.has(id)) };
          if (stopped !== null) throw new Error(stopped.error);
        }
      } catch (error) {
        throw new Error(`${changed} of ${ids.length} were treated: ${errorText(error)}`, { cause: error });
      }
      sayDone(VERBS[operation]);
      plan.value = undefined;
      onDone();
    });
  };
  const guarded = async (work: () => Promise<void>): Promise<void> => {
    isBusy.value = true;
    said.value = "";
    problem.value = undefined;
    try {
      await work();
    } catch (error) {
      problem.value = errorText(error);
    } finally {
      isBusy.value = false;
      progress.value = undefined;
    }
  };

  return (
    <section aria-label="Actions on several deliveries">
      <div class="bar">
        {(["replay", "release", "cancel", "purge", "resolve"] as const).map((operation) => (
          <button
            key={operation}
            type="button"
            disabled={isBusy.value || target === undefined}
            onClick={() => void count(operation)}
          >
            {VERBS[operation]} {ids.length > 0 ? `${ids.length} selected` : "all that fit"}
          </button>
        ))}
        {target === undefined && <span class="faint">Select deliveries or set a filter.</span>}
        <span role="status">{said.value}</span>
      </div>
      <Problem text={problem.value} />
      {plan.value !== undefined && (
        <Confirm
          plan={plan.value}
          progress={progress.value}
          onConfirm={(confirmed) => void carryOut(confirmed)}
          onStop={stop}
          onCancel={() => (plan.value = undefined)}
        />
      )}
    </section>
  );
}

interface ConfirmProps {
  readonly plan: Plan;
  readonly progress: { readonly done: number; readonly of: number } | undefined;
  readonly onConfirm: (plan: Plan) => void;
  readonly onStop: () => void;
  readonly onCancel: () => void;
}

function Confirm({ plan, progress, onConfirm, onStop, onCancel }: ConfirmProps): JSX.Element {
  const { operation, ids, skipped, more } = plan;
  if (progress !== undefined) {
    const stop = async (): Promise<string> => {
      onStop();
      return "Stopping …";
    };
    return (
      <p class="note">
        <span role="status">
          <progress aria-label="Progress" max={progress.of} value={progress.done} /> {progress.done} of {progress.of}
        </span>{" "}
        <ActionButton label="Stop" run={stop} />
      </p>
    );
  }
  return (
    <div class="note" role="group" aria-label="Confirm">
      <p>
        {VERBS[operation]} {ids.length} {ids.length === 1 ? "delivery" : "deliveries"}?
        {skipped > 0 && ` ${skipped} are left as they are.`}
        {more && " There are more than can be done at once."}
      </p>
      <button type="button" class="main" disabled={ids.length === 0} onClick={onFirstClick(() => onConfirm(plan))}>
        {VERBS[operation]} {ids.length}
      </button>{" "}
      <button type="button" onClick={onCancel}>
        Do nothing
      </button>
    </div>
  );
}

/** The newest of those that the list shows: in a filter of the API, a failure that is no longer open is one as well. */
async function openFailures(
  filter: Readonly<Record<string, string>>,
  goesOn: () => boolean,
): Promise<{ ids: string[]; more: boolean }> {
  const ids: string[] = [];
  let cursor: string | null = "";
  while (cursor !== null && ids.length < MAX_NAMED && goesOn()) {
    const query = Object.entries({ ...filter, cursor, limit: "200" }).filter(([, value]) => value !== "");
    const page: ListPage = await read(`deliveries?${new URLSearchParams(query).toString()}`);
    ids.push(...page.deliveries.map(({ id }) => id));
    cursor = page.nextCursor;
  }
  if (ids.length === 0) throw new Error("No failure is open.");
  return { ids: ids.slice(0, MAX_NAMED), more: cursor !== null || ids.length > MAX_NAMED };
}

function targetOf(ids: readonly string[], filter: Readonly<Record<string, string>>): object | undefined {
  if (ids.length > 0) return { ids };
  const { open, ...others } = filter;
  const written = Object.fromEntries(Object.entries(others).filter(([, value]) => value !== ""));
  if (open === "true") return { filter: { ...written, state: "failed" } };
  return Object.keys(written).length === 0 ? undefined : { filter: written };
}
