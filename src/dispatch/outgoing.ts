/** What a mapping's runs may let out, by the active configuration. */
import type { KeyObject } from "node:crypto";
import type { HooksConfig } from "../config/hooks.ts";
import type { MappingConfig } from "../config/mapping/schema.ts";
import type { PresetPart } from "../config/preset.ts";
import type { StoreConfig } from "../config/store.ts";
import { markComment, writeMark } from "../core/chain.ts";
import type { RunChain } from "../core/host.ts";
import {
  checkOutgoing,
  type CheckOutgoing,
  compileLinkHosts,
  type OutgoingRules,
} from "../core/outgoing/check-outgoing.ts";
import { compileSecretIndex } from "../core/outgoing/secret-index.ts";
import type { AgentSpec } from "../core/run.ts";
import { canaryOf } from "./gateway-key.ts";

/** The parts of a configuration that secrets come from. */
export interface OutgoingSources {
  /** Of the gateway itself. */
  readonly gatewaySecrets: readonly string[];
  readonly presets: ReadonlyMap<string, Pick<PresetPart, "secretSettings">>;
}

/** The rules of a mapping; those for `null`, and for one that is gone, are the general ones. */
export type OutgoingFor = (mappingId: string | null) => OutgoingRules;

/** Compiles the rules of every mapping over one index of all secrets. */
export function compileOutgoing(config: HooksConfig, sources: OutgoingSources): OutgoingFor {
  const { links } = config.replies;
  const hasSecret = compileSecretIndex(secretsOf(config, sources));
  const general: OutgoingRules = { hasSecret, isLinkHost: compileLinkHosts(links) };
  const rules = new Map(
    config.mappings.map(({ id, links: own = [] }) => {
      return [id, own.length === 0 ? general : { hasSecret, isLinkHost: compileLinkHosts([...links, ...own]) }];
    }),
  );
  return (mappingId) => (mappingId === null ? general : (rules.get(mappingId) ?? general));
}

function secretsOf(
  { tokens, callbacks, mappings, subscriptions, store }: HooksConfig,
  sources: OutgoingSources,
): string[] {
  const ofMappings = mappings.flatMap((mapping) => [...senderSecrets(mapping), ...settingSecrets(mapping, sources)]);
  const ofServers = subscriptions.flatMap(({ token }) => token ?? []);
  const own = [...tokens, ...(callbacks ? [callbacks.secret] : []), ...(store ? storeSecrets(store) : [])];
  const all = [...sources.gatewaySecrets, ...own, ...ofServers, ...ofMappings];
  return [...new Set(all.flatMap(withoutPrefix))];
}

/** A shorter password of a database is often a word, such as its name. */
const MIN_PASSWORD = 12;

function storeSecrets({ url }: StoreConfig): string[] {
  const { password = "", searchParams } = URL.parse(url) ?? {};
  const passwords = [password, decoded(password), searchParams?.get("password") ?? ""];
  return [url, ...passwords.filter(({ length }) => length >= MIN_PASSWORD)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A public key is no secret. */
function senderSecrets({ auth }: MappingConfig): readonly string[] {
  if (auth === undefined || !("secrets" in auth)) return [];
  const isPublic = "keyEncoding" in auth && auth.keyEncoding === "pem";
  if (isPublic) return [];
  if (auth.scheme !== "basic") return auth.secrets;
  return auth.secrets.flatMap((pair) => [pair, pair.slice(pair.indexOf(":") + 1)]);
}

function settingSecrets({ preset, settings }: MappingConfig, { presets }: OutgoingSources): string[] {
  const names = presets.get(preset ?? "")?.secretSettings ?? [];
  return names.flatMap((name) => settings[name]).filter((value) => typeof value === "string");
}

/** A key is as good without what says its kind. */
function withoutPrefix(secret: string): string[] {
  const bare = secret.replace(/^(?:whsec_|Bearer |Basic )/u, "");
  return bare === secret ? [secret] : [secret, bare];
}

/** Compiles the check of one run; what is passed on without an agent holds nothing but what its sender wrote. */
export function checkRun(rules: OutgoingRules, { key, runId, spec, text, chain }: RunFacts): CheckOutgoing {
  if (spec.mode === "deliver") {
    return (text) => (rules.hasSecret(text) ? "it has a secret of the gateway" : undefined);
  }
  const hasCanary = compileSecretIndex([canaryOf(key, runId)]);
  const given = (): string => `${spec.instructions ?? ""}\n${text()}`;
  const check = checkOutgoing(rules, { hasCanary, given });
  const own = markComment(chain.mark);
  return (text) => {
    // The agent was asked to write this one, where no one sees it; what is around it may be joined there.
    const joined = text.replaceAll(own, "");
    const reason = check(joined);
    return reason !== undefined || joined === text ? reason : check(text.replaceAll(own, MARK_ENDS));
  };
}

/**
 * With this in the place of a mark, which the agent can write anywhere, a text is read as it is sent, but for the comment
 * that the mark is: an address ends there, another one may begin, and a comment or tag that was open is closed.
 */
const MARK_ENDS = "< -->";

export interface RunFacts {
  readonly key: KeyObject;
  readonly runId: string;
  readonly spec: AgentSpec;
  /** What the agent was given of the event. */
  readonly text: () => string;
  readonly chain: RunChain;
}

/** The chain of a run; one that no other caused begins a chain. */
export function chainOf(key: KeyObject, deliveryId: string, { chain, level = "unknown" }: AgentSpec): RunChain {
  const { id, depth } = chain ?? { id: deliveryId, depth: 0 };
  return { id, depth, mark: writeMark(key, { id, depth, level }) };
}
