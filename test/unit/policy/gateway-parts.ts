/** What policy asks of a gateway, for tests: two agents, two channels, a main session for each agent. */
import type { AgentInfo, ChannelInfo, ChannelTarget, GatewayHost, HostChannels } from "../../../src/core/host.ts";

const AGENTS: readonly AgentInfo[] = [
  { id: "main", isDefault: true },
  { id: "ops", isDefault: false },
];

export interface GatewayState {
  readonly channels?: readonly ChannelInfo[];
  /** What the main session of each agent last talked to. */
  readonly last?: Readonly<Record<string, ChannelTarget>>;
  /** Allowed models by agent; absent: any. */
  readonly models?: Readonly<Record<string, readonly string[]>>;
  /** Why the host lets no model be chosen. */
  readonly modelProblem?: string;
}

export const TWO_CHANNELS: readonly ChannelInfo[] = [{ id: "console", defaultTo: "owner" }, { id: "telegram" }];

export function channelsOf({ channels = TWO_CHANNELS, last = {} }: GatewayState = {}): HostChannels {
  return {
    list: () => channels,
    lastRoute: (agentId) => Promise.resolve(Object.hasOwn(last, agentId) ? last[agentId] : undefined),
    send: () => Promise.reject(new Error("Policy sends nothing.")),
  };
}

export function gatewayOf(state: GatewayState = {}): Pick<GatewayHost, "agents" | "channels" | "sessions"> {
  const refuse = (): never => {
    throw new Error("Policy only asks; it does nothing.");
  };
  return {
    agents: {
      list: () => AGENTS,
      resolve: (agentId) => AGENTS.find(({ id }) => id === agentId?.toLowerCase()) ?? AGENTS[0]!,
      allowedModels: (agentId) => state.models?.[agentId],
      modelProblem: () => state.modelProblem,
      run: refuse,
    },
    channels: channelsOf(state),
    sessions: {
      mainSessionKey: (agentId) => `agent:${agentId}:main`,
      enqueueSystemEvent: refuse,
      requestHeartbeat: refuse,
    },
  };
}
