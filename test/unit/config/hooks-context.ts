/** A gateway for configurations to be read against. */
import { ConfigError } from "../../../src/config/config-error.ts";
import type { ConfigIssue } from "../../../src/config/config-error.ts";
import type { HooksConfig } from "../../../src/config/hooks-config.ts";
import { readHooksConfig } from "../../../src/config/read-hooks-config.ts";
import type { HooksContext } from "../../../src/config/read-hooks-config.ts";
import type { AgentCatalog, AgentInfo } from "../../../src/host.ts";

/** A token that nothing has to be said about. */
export const GOOD_TOKEN = "b7e0c3f1a94d2268d5c0e17f3a8b6694";
export const GATEWAY_SECRET = "the-gateways-own-secret-f4a0c2";

/** The agents `main` (default) and `Ops`; ids are found whatever their case. */
export function catalog(models?: Readonly<Record<string, readonly string[]>>): AgentCatalog {
  const agents: readonly AgentInfo[] = [
    { id: "main", isDefault: true },
    { id: "Ops", isDefault: false },
  ];
  return {
    list: () => agents,
    resolve: (id) => agents.find((agent) => agent.id.toLowerCase() === id?.toLowerCase()) ?? agents[0]!,
    allowedModels: (id) => models?.[id],
  };
}

export function context(changes: Partial<HooksContext> = {}): HooksContext {
  return {
    configDir: "/etc/gateway",
    gateway: { secrets: [GATEWAY_SECRET], loopbackOnly: true, trustedProxies: [] },
    agents: catalog(),
    channels: [{ id: "console" }, { id: "telegram" }],
    presetNames: ["gmail", "github"],
    env: {},
    ...changes,
  };
}

/** A gateway that others than this machine reach. */
export const exposed = (): HooksContext =>
  context({ gateway: { secrets: [GATEWAY_SECRET], loopbackOnly: false, trustedProxies: [] } });

/** Reads a block that is on and has a good token. */
export function read(
  block: object,
  around: HooksContext = context(),
): { config: HooksConfig; warnings: readonly string[] } {
  return readHooksConfig({ enabled: true, token: GOOD_TOKEN, ...block }, around);
}

/** The lines with which a block is refused; none when it is not. */
export function refusals(raw: unknown, around: HooksContext = context()): string[] {
  const issues = issuesOf(raw, around);
  return issues.map(({ path, message }) => `${path}: ${message}`);
}

/** Like {@link refusals} for a block that is on and has a good token. */
export const refusalsOf = (block: object, around?: HooksContext): string[] =>
  refusals({ enabled: true, token: GOOD_TOKEN, ...block }, around);

function issuesOf(raw: unknown, around: HooksContext): readonly ConfigIssue[] {
  try {
    readHooksConfig(raw, around);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.issues;
    throw error;
  }
}
