/** Which endpoint and model a reference means, by the configuration of the moment. */
import type { GatewayConfig, ProviderConfig } from "../config/file.ts";

/** A model that can be asked. */
export interface ResolvedModel {
  readonly providerId: string;
  readonly provider: ProviderConfig;
  /** The provider's own name for the model; may itself hold slashes. */
  readonly modelId: string;
}

/** Why a reference means no model, in words for the gateway's owner. */
export interface UnusableModel {
  readonly problem: string;
  /** True when the provider is set aside, and works once its secret can be read. */
  readonly isSetAside?: true;
}

/**
 * Resolves `<provider>/<model>`, or an alias of `agents.defaults.models`, to a configured endpoint.
 * An alias wins over a reference that is spelled the same.
 */
export function resolveModel(config: GatewayConfig, reference: string): ResolvedModel | UnusableModel {
  const ref = config.agents.allowedModels?.find((model) => model.alias === reference)?.ref ?? reference;
  const slash = ref.indexOf("/");
  const modelId = ref.slice(slash + 1);
  if (slash < 1 || modelId === "") {
    return {
      problem: `Model ${quoteReference(reference)} is neither an alias of agents.defaults.models nor written <provider>/<model>.`,
    };
  }
  const providerId = ref.slice(0, slash);
  const provider = config.models.providers.get(providerId);
  if (provider === undefined) {
    return {
      problem: `Model ${quoteReference(ref)} names the provider ${quoteReference(providerId)}, which models.providers does not define.`,
    };
  }
  if (provider.broken !== undefined) {
    const problem = `Model ${quoteReference(ref)} cannot be asked: its provider is set aside (${provider.broken}).`;
    return { problem, isSetAside: true };
  }
  return { providerId, provider, modelId };
}

/** A reference may come from a caller: shortened, and quoted so that it stays on one line. */
export function quoteReference(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}
