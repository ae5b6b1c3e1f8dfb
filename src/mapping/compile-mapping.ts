import type { MappingConfig } from "../config/hooks-config.ts";
import type { TransformFunction } from "../transform/transform.ts";
import { compileTemplate } from "./template.ts";
import type { CompiledTemplate } from "./template.ts";

/** A mapping made ready at config load, so that a request only looks up and renders. */
export interface CompiledMapping {
  readonly config: MappingConfig;
  readonly name: CompiledTemplate;
  readonly sessionKey: CompiledTemplate;
  /** `messageTemplate` of an agent mapping, `textTemplate` of a wake mapping. */
  readonly content: CompiledTemplate;
  readonly to: CompiledTemplate;
  readonly model: CompiledTemplate;
  readonly thinking: CompiledTemplate;
  readonly transform: TransformFunction | undefined;
}

/** Compiles the templates of a mapping; `transform` is its loaded module, when it names one. */
export function compileMapping(config: MappingConfig, transform: TransformFunction | undefined): CompiledMapping {
  const content = config.action === "wake" ? config.textTemplate : config.messageTemplate;
  return {
    config,
    name: compileTemplate(config.name ?? ""),
    sessionKey: compileTemplate(config.sessionKey ?? ""),
    content: compileTemplate(content ?? ""),
    to: compileTemplate(config.to ?? ""),
    model: compileTemplate(config.model ?? ""),
    thinking: compileTemplate(config.thinking ?? ""),
    transform,
  };
}
