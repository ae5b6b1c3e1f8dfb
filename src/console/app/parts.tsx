import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import type { State } from "../../core/run.ts";
import { errorText } from "./client.ts";
import { linkTo } from "./location.ts";

/** A sign beside the word: a state is never shown by color alone. */
const SIGNS: Readonly<Record<State, string>> = {
  filtered: "○",
  skipped: "○",
  duplicate: "⧉",
  coalesced: "⊕",
  queued: "…",
  running: "▶",
  held: "Ⅱ",
  done: "✓",
  failed: "✕",
  canceled: "–",
};

export function StateMark({ state }: { readonly state: State }): JSX.Element {
  return (
    <span class={state === "failed" ? "bad" : state === "done" ? "good" : ""}>
      <span aria-hidden="true">{SIGNS[state]}</span> {state}
    </span>
  );
}

export function Time({ at }: { readonly at: string }): JSX.Element {
  const date = new Date(at);
  const isToday = date.toDateString() === new Date().toDateString();
  return (
    <time dateTime={at} title={at}>
      {isToday ? date.toLocaleTimeString() : date.toLocaleString()}
    </time>
  );
}

/** The time between two points of ISO 8601: `35 ms`, `1.2 s`, `4 min`. */
export function durationText(from: string, to: string): string {
  const ms = Math.max(0, Date.parse(to) - Date.parse(from));
  if (ms < 1_000) return `${ms} ms`;
  return ms < 120_000 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`;
}

/** More of a text is a download: a page with megabytes of text is slow. */
export const MAX_SHOWN_CHARS = 50_000;

export function Text({ text, label }: { readonly text: string; readonly label: string }): JSX.Element {
  const isCut = text.length > MAX_SHOWN_CHARS;
  return (
    <>
      <pre tabIndex={0} role="region" aria-label={label}>
        {isCut ? text.slice(0, MAX_SHOWN_CHARS) : text}
      </pre>
      {isCut && <p class="faint">Only the first {MAX_SHOWN_CHARS.toLocaleString()} characters are shown.</p>}
    </>
  );
}

export interface TableProps {
  readonly label: string;
  readonly titles: readonly string[];
  readonly caption?: string;
  /** The head of a first column of check boxes. */
  readonly box?: ComponentChildren;
  /** The rows. */
  readonly children: ComponentChildren;
}

/** A table that scrolls by itself when it is wider than the page. */
export function Table({ label, titles, caption, box, children }: TableProps): JSX.Element {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      <table>
        {caption !== undefined && <caption>{caption}</caption>}
        <thead>
          <tr>
            {box !== undefined && <th class="box">{box}</th>}
            {titles.map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

interface PageLinksProps {
  readonly page: string;
  readonly of?: string;
  readonly filters?: Readonly<Record<string, string>>;
  /** Of the page that is shown; empty: it is the newest. */
  readonly cursor: string;
  /** Of the next older page; nothing: there is none, or it is not known yet. */
  readonly next: string | null | undefined;
  readonly children: string;
}

/** The ways from a page of a list to older rows, and back to the newest. */
export function PageLinks({ page, of, filters = {}, cursor, next, children }: PageLinksProps): JSX.Element {
  return (
    <p class="bar">
      {cursor !== "" && <a href={linkTo(page, of, filters)}>Newest</a>}
      {next != null && <a href={linkTo(page, of, { ...filters, cursor: next })}>{children}</a>}
    </p>
  );
}

export function Problem({ text }: { readonly text: string | undefined }): JSX.Element | null {
  return text === undefined ? null : (
    <p class="note problem" role="alert">
      {text}
    </p>
  );
}

/** The second click of a double one would undo what the first has done, or answer the next question. */
export function onFirstClick(act: () => void): (event: MouseEvent) => void {
  return ({ detail }) => {
    if (detail < 2) act();
  };
}

export interface ActionProps {
  readonly label: string;
  readonly run: () => Promise<string | undefined>;
  readonly isMain?: boolean;
  readonly isDisabled?: boolean;
  readonly children?: ComponentChildren;
}

/** A button that says what it did, or why it could not. */
export function ActionButton({ label, run, isMain = false, isDisabled = false }: ActionProps): JSX.Element {
  const isBusy = useSignal(false);
  const said = useSignal<{ readonly text: string; readonly isBad: boolean } | undefined>(undefined);
  const act = async (): Promise<void> => {
    isBusy.value = true;
    said.value = undefined;
    try {
      const text = await run();
      said.value = text === undefined ? undefined : { text, isBad: false };
    } catch (error) {
      said.value = { text: errorText(error), isBad: true };
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <>
      <button
        type="button"
        class={isMain ? "main" : ""}
        disabled={isDisabled || isBusy.value}
        onClick={onFirstClick(() => void act())}
      >
        {label}
      </button>
      <span role="status" class={said.value?.isBad === true ? "bad" : ""}>
        {said.value?.text}
      </span>
    </>
  );
}
