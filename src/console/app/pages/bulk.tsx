import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { errorText, sendRequest } from "../client.ts";
import { Problem } from "../parts.tsx";

interface BulkAnswer {
  readonly matched: number;
  readonly more: boolean;
  readonly stopped: { readonly error: string } | null;
  readonly deliveries: readonly { readonly id: string; readonly outcome: string; readonly reason?: string }[];
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
  const target = targetOf(ids, filter);

  const count = async (operation: Operation): Promise<void> => {
    await guarded(async () => {
      const answer = await sendRequest<BulkAnswer>(`deliveries/${operation}`, { ...target, dryRun: true });
      const planned = answer.deliveries.filter(({ outcome }) => outcome === "planned").map(({ id }) => id);
      plan.value = { operation, ids: planned, skipped: answer.deliveries.length - planned.length, more: answer.more };
      said.value = "";
    });
  };
  const carryOut = async ({ operation, ids }: Plan): Promise<void> => {
    await guarded(async () => {
      let changed = 0;
      for (let at = 0; at < ids.length; at += AT_ONCE) {
        progress.value = { done: at, of: ids.length };
        const part = ids.slice(at, at + AT_ONCE);
        const answer = await sendRequest<BulkAnswer>(`deliveries/${operation}`, { ids: part });
        changed += answer.deliveries.filter(({ outcome }) => !["left", "refused", "unknown"].includes(outcome)).length;
        if (answer.stopped !== null)
          throw new Error(`${changed} of ${ids.length} were treated: ${answer.stopped.error}`);
      }
      said.value = `${VERBS[operation]}: ${changed} of ${ids.length} done.`;
      plan.value = undefined;
      onDone();
    });
  };
  const guarded = async (work: () => Promise<void>): Promise<void> => {
    isBusy.value = true;
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
  readonly onCancel: () => void;
}

function Confirm({ plan, progress, onConfirm, onCancel }: ConfirmProps): JSX.Element {
  const { operation, ids, skipped, more } = plan;
  if (progress !== undefined) {
    return (
      <p class="note" role="status">
        <progress aria-label="Progress" max={progress.of} value={progress.done} /> {progress.done} of {progress.of}
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
      <button type="button" class="main" disabled={ids.length === 0} onClick={() => onConfirm(plan)}>
        {VERBS[operation]} {ids.length}
      </button>{" "}
      <button type="button" onClick={onCancel}>
        Do nothing
      </button>
    </div>
  );
}

function targetOf(ids: readonly string[], filter: Readonly<Record<string, string>>): object | undefined {
  if (ids.length > 0) return { ids };
  const { open, ...others } = filter;
  const written = Object.fromEntries(Object.entries(others).filter(([, value]) => value !== ""));
  if (open === "true") return { filter: { ...written, state: "failed" } };
  return Object.keys(written).length === 0 ? undefined : { filter: written };
}
