import type { ExtractionRequest } from "../../../src/core/extraction.ts";
import type {
  AgentRunRequest,
  AgentRunResult,
  ChannelMessage,
  GatewayHost,
  SystemEvent,
} from "../../../src/core/host.ts";

const replies = async (): Promise<AgentRunResult> => ({ status: "ok", reply: "All done." });
const fillsNothing = async (): Promise<AgentRunResult> => ({ status: "ok", reply: "{}" });
const takes = async (): Promise<void> => {};

/** A host whose answers a test scripts, and which remembers what it was asked. */
export class ScriptedHost implements Pick<GatewayHost, "agents" | "channels" | "sessions"> {
  readonly runs: AgentRunRequest[] = [];
  readonly extractions: ExtractionRequest[] = [];
  readonly events: SystemEvent[] = [];
  readonly sent: ChannelMessage[] = [];
  readonly heartbeats: string[] = [];
  onRun: (request: AgentRunRequest) => Promise<AgentRunResult> = replies;
  onExtract: (request: ExtractionRequest) => Promise<AgentRunResult> = fillsNothing;
  onEvent: (event: SystemEvent) => Promise<void | "waiting"> = takes;
  /** Called by a test whose host reports what turns have taken. */
  taken: (idempotencyKeys: readonly string[]) => void = () => {};
  readonly withdrawn: string[] = [];
  onSend: (message: ChannelMessage) => Promise<void> = takes;

  /** Forgets what it was asked, and answers as at first. */
  reset(): void {
    for (const kept of [this.runs, this.extractions, this.events, this.sent, this.heartbeats, this.withdrawn])
      kept.length = 0;
    this.onRun = replies;
    this.onExtract = fillsNothing;
    this.onEvent = takes;
    this.onSend = takes;
  }

  readonly agents: GatewayHost["agents"] = {
    list: () => [{ id: "main", isDefault: true }],
    resolve: () => ({ id: "main", isDefault: true }),
    allowedModels: () => undefined,
    run: async (request) => {
      this.runs.push(request);
      return this.onRun(request);
    },
    extractionProblem: () => undefined,
    extract: async (request) => {
      this.extractions.push(request);
      return this.onExtract(request);
    },
  };

  readonly sessions: GatewayHost["sessions"] = {
    mainSessionKey: (agentId) => `agent:${agentId}:main`,
    enqueueSystemEvent: async (event) => {
      const outcome = await this.onEvent(event);
      this.events.push(event);
      return outcome;
    },
    onEventsTaken: (listener) => void (this.taken = listener),
    withdrawSystemEvent: async (key) => void this.withdrawn.push(key),
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
