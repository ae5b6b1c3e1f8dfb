import { type Signal, useSignal } from "@preact/signals";
import { useCallback, useEffect, useRef } from "preact/hooks";
import { errorText, read } from "./client.ts";
import { onChange } from "./live.ts";

export interface Loaded<Body> {
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

/** Reads a path, and again when it changes. */
export function useData<Body>(path: string, { live = true, everyMs }: Reading = {}): Loaded<Body> {
  const body = useSignal<Body | undefined>(undefined);
  const problem = useSignal<string | undefined>(undefined);
  const wanted = useRef(path);
  wanted.current = path;
  const reload = useCallback(async () => {
    try {
      const said = await read<Body>(path);
      // An answer for the page before comes too late.
      if (wanted.current !== path) return;
      body.value = said;
      problem.value = undefined;
    } catch (error) {
      if (wanted.current === path) problem.value = errorText(error);
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
  return { body, problem, reload };
}
