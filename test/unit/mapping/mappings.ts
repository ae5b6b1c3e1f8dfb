/** Mappings and requests for tests: what is not said is as the configuration's defaults have it. */
import { Findings } from "../../../src/config/errors.ts";
import type { MappingConfig } from "../../../src/config/mapping/schema.ts";
import { normalizeMapping } from "../../../src/config/mapping/normalize.ts";
import type { MappingInput } from "../../../src/config/hooks.ts";
import type { PayloadContext } from "../../../src/core/delivery.ts";
import { compileMapping, type CompiledMapping } from "../../../src/mapping/compile-mapping.ts";
import { TransformError, type CallTransform } from "../../../src/transform/call.ts";
import { contextFields, transformContext, type TransformContext } from "../../../src/transform/context.ts";

export const NOW = new Date("2026-02-03T04:05:06.007Z");

/** A mapping's configuration as it stands at `hooks.mappings[at]`. */
function configOf(input: MappingInput, at = 0): MappingConfig {
  return normalizeMapping(input, at, new Findings());
}

/** A transform of a test: it may return what no real one should. */
export type AnyTransform = (context: TransformContext) => unknown;

/** A mapping ready for requests; its transform runs in the test's own process. */
export function mappingOf(input: MappingInput, options: { at?: number; transform?: AnyTransform } = {}) {
  return compileMapping(configOf(input, options.at), options.transform && callTo(options.transform));
}

function callTo(transform: AnyTransform): CallTransform {
  return async (call) => {
    try {
      return await transform(transformContext(contextFields(call), call.rawBody));
    } catch (error) {
      throw error instanceof TransformError ? error : new TransformError("failed", `threw ${String(error)}`);
    }
  };
}

/** Several mappings in the order of the configuration. */
export function mappingsOf(...inputs: readonly MappingInput[]): CompiledMapping[] {
  return inputs.map((input, at) => mappingOf(input, { at }));
}

/** A parsed request with that payload. */
export function requestWith(payload: unknown, changes: Partial<PayloadContext> = {}): PayloadContext {
  return { path: "hook", headers: {}, query: {}, payload, now: NOW, ...changes };
}
