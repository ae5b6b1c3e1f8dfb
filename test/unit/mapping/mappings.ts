/** Mappings and requests for tests: what is not said is as the configuration's defaults have it. */
import { Findings } from "../../../src/config/findings.ts";
import type { MappingConfig } from "../../../src/config/hooks-config.ts";
import { normalizeMapping } from "../../../src/config/normalize-mapping.ts";
import type { MappingInput } from "../../../src/config/schema.ts";
import type { PayloadContext } from "../../../src/delivery.ts";
import { compileMapping } from "../../../src/mapping/compile-mapping.ts";
import type { CompiledMapping } from "../../../src/mapping/compile-mapping.ts";
import type { TransformFunction } from "../../../src/transform/transform.ts";

export const NOW = new Date("2026-02-03T04:05:06.007Z");

/** A mapping's configuration as it stands at `hooks.mappings[at]`. */
function configOf(input: MappingInput, at = 0): MappingConfig {
  return normalizeMapping(input, at, new Findings());
}

/** A mapping ready for requests. */
export function mappingOf(input: MappingInput, options: { at?: number; transform?: TransformFunction } = {}) {
  return compileMapping(configOf(input, options.at), options.transform);
}

/** Several mappings in the order of the configuration. */
export function mappingsOf(...inputs: readonly MappingInput[]): CompiledMapping[] {
  return inputs.map((input, at) => mappingOf(input, { at }));
}

/** A parsed request with that payload. */
export function requestWith(payload: unknown, changes: Partial<PayloadContext> = {}): PayloadContext {
  return { path: "hook", headers: {}, query: {}, payload, now: NOW, ...changes };
}
