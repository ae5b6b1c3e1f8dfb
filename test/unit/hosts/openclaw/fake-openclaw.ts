import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type {
  OpenClawApi,
  OpenClawConfig,
  OpenClawSdk,
  OpenClawServiceContext,
  OutboundAdapter,
  PluginHttpRoute,
  SessionEntry,
  SubagentOutcome,
  SubagentRun,
} from "../../../../src/hosts/openclaw/sdk.ts";

interface QueuedEvent {
  readonly text: string;
  readonly contextKey: string;
}

/** The host's limit. */
const MAX_EVENTS = 20;

/** OpenClaw's calls as the real one was seen to behave; the suites in `test/openclaw` hold it to that. */
export class FakeOpenClaw {
  readonly stateDir = mkdtempSync(join(tmpdir(), "reveille-fake-openclaw-"));
  config: OpenClawConfig = {};
  readonly queues = new Map<string, QueuedEvent[]>();
  readonly heartbeats: { readonly sessionKey: string; readonly reason: string; readonly heartbeat?: object }[] = [];
  readonly runs: SubagentRun[] = [];
  readonly deleted: string[] = [];
  readonly routes: PluginHttpRoute[] = [];
  readonly sent: { readonly to: string; readonly text: string; accountId?: string; threadId?: string | number }[] = [];
  readonly health: string[] = [];
  readonly log: string[] = [];
  readonly entries = new Map<string, SessionEntry>();
  messages: readonly unknown[] = [];
  /** What happens to a run; it never ends while this is `undefined`. */
  outcome: SubagentOutcome | undefined = { status: "ok", terminalReply: { text: "done" } };
  /** Thrown by the next calls of `run`. */
  refusals: unknown[] = [];
  adapter: OutboundAdapter | undefined = {
    sendText: async (message) => {
      const { cfg, ...sent } = message;
      if (cfg === this.config) this.sent.push(sent);
    },
  };

  readonly logger = {
    debug: (line: string) => void this.log.push(line),
    info: (line: string) => void this.log.push(line),
    warn: (line: string) => void this.log.push(line),
    error: (line: string) => void this.log.push(line),
  };

  readonly api: OpenClawApi = {
    id: "reveille",
    registrationMode: "full",
    logger: this.logger,
    registerService: () => {},
    runtime: {
      version: "2026.9.6",
      config: { current: () => this.config },
      state: { resolveStateDir: () => this.stateDir },
      system: {
        enqueueSystemEvent: (text, { sessionKey, contextKey }) => this.#enqueue(text, sessionKey, contextKey),
        requestHeartbeat: ({ sessionKey, reason, heartbeat }) =>
          void this.heartbeats.push({ sessionKey, reason, ...(heartbeat === undefined ? {} : { heartbeat }) }),
      },
      subagent: {
        run: async (run) => {
          if (this.refusals.length > 0) throw this.refusals.shift();
          this.runs.push(run);
          return { runId: run.idempotencyKey };
        },
        waitForRun: async () => {
          if (this.outcome === undefined) await new Promise((resolve) => setTimeout(resolve, 20));
          return this.outcome ?? { status: "timeout" };
        },
        getSessionMessages: async () => ({ messages: this.messages }),
        deleteSession: async ({ sessionKey }) => void this.deleted.push(sessionKey),
      },
      channel: { outbound: { loadAdapter: async () => this.adapter } },
      agent: { session: { getSessionEntry: ({ sessionKey }) => this.entries.get(sessionKey.toLowerCase()) } },
    },
  };

  readonly sdk: OpenClawSdk = {
    peekSystemEventEntries: (sessionKey) => this.peek(sessionKey),
    registerPluginHttpRoute: (route) => {
      this.routes.push(route);
      return () => void this.routes.splice(this.routes.indexOf(route), 1);
    },
  };

  readonly context: OpenClawServiceContext = {
    stateDir: this.stateDir,
    logger: this.logger,
    serviceHealth: {
      reportFailure: (error) => void this.health.push(String(error)),
      clearFailure: () => void this.health.push("clear"),
    },
  };

  peek(sessionKey: string): readonly QueuedEvent[] {
    return this.queues.get(sessionKey.toLowerCase()) ?? [];
  }

  /** A turn of the session takes what is in its queue, and ends like this. */
  turn(sessionKey: string, status = "done"): string[] {
    const queue = this.queues.get(sessionKey) ?? [];
    this.queues.delete(sessionKey);
    this.entries.set(sessionKey, { status, endedAt: Date.now() });
    return queue.map(({ text }) => text);
  }

  [Symbol.dispose](): void {
    rmSync(this.stateDir, { recursive: true, force: true });
  }

  /** The host knows sessions by their keys in lower case. */
  #enqueue(text: string, key: string, contextKey: string): boolean {
    const sessionKey = key.toLowerCase();
    const others = (this.queues.get(sessionKey) ?? []).filter((event) => event.contextKey !== contextKey);
    this.queues.set(sessionKey, [...others, { text, contextKey }].slice(-MAX_EVENTS));
    return true;
  }
}
