import type { AgentRunRequest, AgentRunResult, ChannelMessage, GatewayHost, SystemEvent } from "../../../src/host.ts";

/** A host whose answers a test scripts, and which remembers what it was asked. */
export class ScriptedHost implements Pick<GatewayHost, "agents" | "channels" | "sessions"> {
  readonly runs: AgentRunRequest[] = [];
  readonly events: SystemEvent[] = [];
  readonly sent: ChannelMessage[] = [];
  readonly heartbeats: string[] = [];
  onRun: (request: AgentRunRequest) => Promise<AgentRunResult> = async () => ({ status: "ok", reply: "All done." });
  onEvent: (event: SystemEvent) => Promise<void> = async () => {};
  onSend: (message: ChannelMessage) => Promise<void> = async () => {};

  readonly agents: GatewayHost["agents"] = {
    list: () => [{ id: "main", isDefault: true }],
    resolve: () => ({ id: "main", isDefault: true }),
    allowedModels: () => undefined,
    run: async (request) => {
      this.runs.push(request);
      return this.onRun(request);
    },
  };

  readonly sessions: GatewayHost["sessions"] = {
    mainSessionKey: (agentId) => `agent:${agentId}:main`,
    enqueueSystemEvent: async (event) => {
      await this.onEvent(event);
      this.events.push(event);
    },
    requestHeartbeat: ({ sessionKey, reason }) => {
      this.heartbeats.push(`${sessionKey} ${reason}`);
    },
  };

  readonly channels: GatewayHost["channels"] = {
    list: () => [{ id: "console", defaultTo: "owner" }],
    lastRoute: async () => undefined,
    send: async (message) => {
      await this.onSend(message);
      this.sent.push(message);
    },
  };
}
