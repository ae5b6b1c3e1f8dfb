import { type Signal, useSignal } from "@preact/signals";
import { useCallback, useEffect, useRef } from "preact/hooks";
import { errorText, read } from "./client.ts";
import { onChange } from "./live.ts";

export interface Loaded<Body> {
  readonly path: string | undefined;
  readonly body: Signal<Body | undefined>;
  readonly problem: Signal<string | undefined>;
  readonly reload: () => Promise<void>;
}

interface Reading {
  /** Reads it again when deliveries change. */
  readonly live?: boolean;
  /** Reads it again after so many milliseconds, for answers that the gateway keeps for a while. */
  readonly everyMs?: number;
}

/** Reads a path, and again when it changes; without one, nothing. */
export function useData<Body>(path: string | undefined, { live = true, everyMs }: Reading = {}): Loaded<Body> {
  const body = useSignal<Body | undefined>(undefined);
  const problem = useSignal<string | undefined>(undefined);
  const wanted = useRef(path);
  wanted.current = path;
  const asked = useRef(0);
  const answered = useRef(0);
  const reload = useCallback(async () => {
    if (path === undefined) return;
    const turn = ++asked.current;
    // An answer for the page before, or to an earlier question, comes too late.
    const isLate = (): boolean => wanted.current !== path || turn < answered.current;
    try {
      const said = await read<Body>(path);
      if (isLate()) return;
      answered.current = turn;
      body.value = said;
      problem.value = undefined;
    } catch (error) {
      if (!isLate()) problem.value = errorText(error);
    }
  }, [path]);
  useEffect(() => {
    body.value = undefined;
    void reload();
    const forget = live ? onChange(reload) : undefined;
    const timer = everyMs === undefined ? undefined : setInterval(() => void reload(), everyMs);
    return () => {
      forget?.();
      clearInterval(timer);
    };
  }, [reload]);
  return { path, body, problem, reload };
}

interface LoadedPage<Body> extends Loaded<Body> {
  /** Empty for the newest. */
  readonly cursor: string;
}

/** Reads the page of a list whose cursor is in the URL; `path` has a query. */
export function usePage<Body>(path: string, filters: URLSearchParams): LoadedPage<Body> {
  const cursor = filters.get("cursor") ?? "";
  const loaded = useData<Body>(cursor === "" ? path : `${path}&cursor=${encodeURIComponent(cursor)}`);
  return { ...loaded, cursor };
}

interface Kept<Item> {
  readonly item: Item;
  /** True when it is no longer in the list. */
  readonly isGone: boolean;
}

/** More that are gone are not kept: a page may be open for weeks. */
const MAX_KEPT = 500;

/** The items of a list that is read again and again, each in its first place: a button must not move away under a click. */
export function useKept<Item extends { readonly id: string }>(latest: readonly Item[] = []): readonly Kept<Item>[] {
  const { current: kept } = useRef(new Map<string, Item>());
  for (const item of latest) kept.set(item.id, item);
  const known = new Set(latest.map(({ id }) => id));
  for (const id of kept.keys()) {
    if (kept.size <= MAX_KEPT) break;
    if (!known.has(id)) kept.delete(id);
  }
  return Array.from(kept.values(), (item) => ({ item, isGone: !known.has(item.id) }));
}
