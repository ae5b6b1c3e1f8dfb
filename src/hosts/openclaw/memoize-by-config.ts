import type { OpenClawConfig } from "./sdk.ts";

/**
 * What is made of the configuration in force, made anew only when the host has another one: the host's object
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
