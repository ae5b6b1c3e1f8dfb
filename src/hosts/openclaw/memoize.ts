import type { OpenClawConfig } from "./sdk.ts";

/**
 * Calls `ask` once in a turn of the event loop: all requests of one turn share the answer. What it
 * throws is thrown on, and asked for again by the next call.
 */
export function memoizePerTick<Value>(ask: () => Value): () => Value {
  let answer: { readonly value: Value } | undefined;
  const forget = (): void => (answer = undefined);
  return () => {
    if (answer === undefined) {
      answer = { value: ask() };
      setImmediate(forget);
    }
    return answer.value;
  };
}

/**
 * The result for the active configuration, made again only when the host has another one: the host's object
 * is another one after each change, and is asked for with every request.
 */
export function memoizeByConfig<Made>(
  current: () => OpenClawConfig,
  make: (config: OpenClawConfig) => Made,
): () => Made {
  let last: { readonly config: OpenClawConfig; readonly made: Made } | undefined;
  return () => {
    const config = current();
    if (last?.config !== config) last = { config, made: make(config) };
    return last.made;
  };
}
