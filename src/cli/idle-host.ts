import { HostError } from "../core/host.ts";
import type { GatewayHost } from "../core/host.ts";

/** What is known of a gateway from its configuration alone. */
export interface IdleHostFacts extends Pick<GatewayHost, "name" | "lifecycle" | "logger" | "paths"> {
  /** The last part of a main session's key. */
  readonly mainKey: string;
  readonly agents: Omit<GatewayHost["agents"], "run">;
  readonly channels: ReturnType<GatewayHost["channels"]["list"]>;
}

/** A host whose plugins can be given a configuration and nothing else. */
export function idleHost({ name, lifecycle, logger, paths, mainKey, agents, channels }: IdleHostFacts): GatewayHost {
  const refuse = (): Promise<never> =>
    Promise.reject(
      new HostError("The gateway is not running; its configuration is being checked.", { retryable: false }),
    );
  return {
    name,
    lifecycle,
    sessions: {
      mainSessionKey: (agentId) => `agent:${agentId}:${mainKey}`,
      enqueueSystemEvent: refuse,
      requestHeartbeat: () => {},
    },
    agents: { ...agents, run: refuse },
    // Of conversations nothing is known here.
    channels: { list: () => channels, lastRoute: () => Promise.resolve(undefined), send: refuse },
    logger,
    paths,
    clock: { now: () => Date.now() },
  };
}
