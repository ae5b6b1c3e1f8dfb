import { type Signal, useSignal } from "@preact/signals";
import { useCallback, useEffect, useRef } from "preact/hooks";
import { messageOf, read } from "./client.ts";
import { onChange } from "./live.ts";

export interface Loaded<Body> {
  readonly body: Signal<Body | undefined>;
  readonly problem: Signal<string | undefined>;
  readonly reload: () => Promise<void>;
}

/** Reads a path, again when it changes, and with `live` also when deliveries change. */
export function useData<Body>(path: string, { live = true }: { live?: boolean } = {}): Loaded<Body> {
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
      if (wanted.current === path) problem.value = messageOf(error);
    }
  }, [path]);
  useEffect(() => {
    body.value = undefined;
    void reload();
    return live ? onChange(() => void reload()) : undefined;
  }, [reload]);
  return { body, problem, reload };
}
