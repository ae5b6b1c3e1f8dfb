/** The section `models`, and what happens to a part whose secret is missing. */
import { type EndpointContext, readHeaders, readSecret, requireUrl } from "./endpoint.ts";
import type { KeepUsable } from "./channels.ts";
import type { GatewayConfig, ModelsConfig, ProviderConfig } from "./file.ts";
import type { GatewayFile } from "./schema.ts";
import { showKeyPath } from "../../../config/show-value.ts";

export interface SetAsideContext extends EndpointContext {
  /** Present: a part whose secret is missing keeps its version in the configuration active now, or is set aside. */
  readonly setAside: SetAsideParts | undefined;
}

/** What is active now; `undefined` at a start. */
export interface SetAsideParts {
  readonly before: Pick<GatewayConfig, "agents" | "models" | "channels" | "telemetry"> | undefined;
}

/** Reads the section `models`. */
export function readModels(written: GatewayFile["models"], context: SetAsideContext): ModelsConfig {
  const providers = new Map<string, ProviderConfig>();
  for (const [id, provider] of Object.entries(written?.providers ?? {})) {
    const where = ["models", "providers", id];
    if (!/^[^/\s]+$/u.test(id)) {
      context.findings.refuse(showKeyPath(where), "the name of a provider has no slashes and no spaces");
    }
    requireUrl(provider.baseUrl, showKeyPath([...where, "baseUrl"]), context);
    const found = context.findings.issues.length;
    const read: ProviderConfig = {
      baseUrl: provider.baseUrl,
      apiKey:
        provider.apiKey === undefined
          ? undefined
          : readSecret(provider.apiKey, showKeyPath([...where, "apiKey"]), context),
      headers: readHeaders(provider.headers ?? {}, [...where, "headers"], context),
    };
    const before = context.setAside?.before?.models.providers.get(id);
    const isKept = before !== undefined && before.broken === undefined;
    const missing = missingSecret(found, context, isKept ? KEPT : "its agents' runs wait until it can be read");
    if (missing === undefined) providers.set(id, read);
    else providers.set(id, isKept ? before : { ...read, broken: missing });
  }
  return { providers };
}

/** Keeps of a channel whose secret is missing the version that is active now, or sets it aside. */
export function keepUsable(context: SetAsideContext): KeepUsable {
  return (read, before) => {
    const found = context.findings.issues.length;
    const part = read();
    const outcome = before === undefined ? "the channel is set aside" : KEPT;
    return missingSecret(found, context, outcome) === undefined ? part : before;
  };
}

export const KEPT = "the version before stays active for this part";

/** Makes a warning of each missing secret that was found from the issue `from` on; gives the first one. */
export function missingSecret(
  from: number,
  { findings, setAside }: SetAsideContext,
  outcome: string,
): string | undefined {
  if (setAside === undefined) return undefined;
  const found = findings.issues.splice(from);
  const missing = found.filter(({ isReference }) => isReference === true);
  findings.issues.push(...found.filter((issue) => !missing.includes(issue)));
  for (const { path, message } of missing) findings.warn(path, `${message}; ${outcome}`);
  return missing[0] && `${missing[0].path}: ${missing[0].message}`;
}
