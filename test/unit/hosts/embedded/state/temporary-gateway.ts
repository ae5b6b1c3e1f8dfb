/** The embedded gateway's parts on a real database file in a folder of their own. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { AgentConfig, GatewayConfig } from "../../../../../src/hosts/embedded/config/file.ts";
import { EmbeddedAgents } from "../../../../../src/hosts/embedded/agents.ts";
import { AgentTurns } from "../../../../../src/hosts/embedded/agents/agent-turns.ts";
import { Approvals } from "../../../../../src/hosts/embedded/agents/approvals.ts";
import { DEFAULT_MODEL_TURN_LIMITS } from "../../../../../src/hosts/embedded/agents/model-turn.ts";
import { EmbeddedSessions } from "../../../../../src/hosts/embedded/sessions.ts";
import { STATE_MODULE_URL } from "../../../../../src/hosts/embedded/state/sqlite-module.ts";
import { SqliteState } from "../../../../../src/hosts/embedded/state/sqlite-state.ts";
import { SqliteDatabase } from "../../../../../src/storage/sqlite/engine/database.ts";
import { recordingLogger } from "../server/recording-logger.ts";

export const START = Date.UTC(2026, 1, 27, 10, 0, 0);

type Overrides = Partial<Pick<GatewayConfig, "agents" | "models" | "channels" | "session">>;

export function gatewayConfig(overrides: Overrides = {}): GatewayConfig {
  return {
    file: "/nonexistent/reveille.json5",
    gateway: {
      port: 0,
      host: "127.0.0.1",
      loopbackOnly: true,
      authTokens: ["gateway-token"],
      mcp: { readTokens: [], writeTokens: [], events: [] },
      trustedProxies: [],
      shutdownMs: 1_000,
    },
    agents: { list: [agentConfig()], allowedModels: undefined, heartbeatEveryMs: 0, timeoutMs: 10_000 },
    models: { providers: new Map() },
    session: { mainKey: "main", isolatedRetentionMs: 30 * 24 * 3_600_000, isolatedMaxBytes: undefined },
    channels: { console: { enabled: true }, webhook: undefined, own: new Map() },
    plugins: { load: [], entries: new Map() },
    telemetry: { metricsTokens: [], otlp: undefined },
    hooks: undefined,
    secretFiles: [],
    ...overrides,
  };
}

export function agentConfig(overrides: Partial<AgentConfig> = {}): AgentConfig {
  return {
    id: "main",
    isDefault: true,
    model: undefined,
    systemPrompt: undefined,
    thinking: undefined,
    permissions: "deny",
    allowUntrusted: false,
    approvalTimeoutMs: 60_000,
    egress: [],
    ...overrides,
  };
}

/** A gateway's state; `config` and `now` may be changed at any time. */
export class TemporaryGateway implements AsyncDisposable {
  readonly logger = recordingLogger();
  readonly clock = { now: () => this.now };
  readonly #folder = mkdtempSync(join(tmpdir(), "embedded-state-"));
  readonly #file = join(this.#folder, "state.sqlite");
  config: GatewayConfig;
  now = START;
  database!: SqliteDatabase;
  state!: SqliteState;
  sessions!: EmbeddedSessions;

  private constructor(config: GatewayConfig) {
    this.config = config;
  }

  static async open(overrides: Overrides = {}): Promise<TemporaryGateway> {
    const gateway = new TemporaryGateway(gatewayConfig(overrides));
    await gateway.#open();
    return gateway;
  }

  async #open(): Promise<void> {
    this.database = await SqliteDatabase.open({ file: this.#file, modules: [STATE_MODULE_URL] });
    this.state = new SqliteState(this.database);
    this.sessions = new EmbeddedSessions(this.parts);
  }

  /** What most of the gateway's classes take. */
  get parts() {
    const { state, clock, logger, sessions } = this;
    return { state, clock, logger, sessions, stateDir: this.#folder, config: () => this.config };
  }

  /** Empties the tables and forgets what a test set: opening a database takes a hundred times longer. */
  async reset(overrides: Overrides = {}): Promise<void> {
    // Writes are carried out in order: after this one none is left of the test before.
    await this.sessions.forgetRuns(0);
    const direct = new DatabaseSync(this.#file, { timeout: 10_000 });
    const tables = ["session", "event", "message", "outbox"];
    direct.exec(`BEGIN; ${tables.map((table) => `DELETE FROM embedded_${table};`).join(" ")}
      UPDATE embedded_transcript_bytes SET through_id = 0, bytes = 0; COMMIT`);
    direct.close();
    this.config = gatewayConfig(overrides);
    this.now = START;
    this.logger.lines.length = 0;
    this.sessions = new EmbeddedSessions(this.parts);
  }

  /** Closes the database and opens it again, as a new process would. */
  async restart(): Promise<void> {
    await this.database.close();
    await this.#open();
  }

  async wake(text: string, idempotencyKey: string = text, sessionKey = "agent:main:main"): Promise<void> {
    await this.sessions.enqueueSystemEvent({ sessionKey, text, idempotencyKey });
  }

  async pendingTexts(sessionKey = "agent:main:main"): Promise<string[]> {
    return (await this.sessions.pendingEvents(sessionKey, { limit: 200 })).events.map(({ text }) => text);
  }

  async texts(sessionKey = "agent:main:main"): Promise<string[]> {
    return (await this.sessions.messages(sessionKey, { limit: 200 })).messages.map(
      ({ role, text }) => `${role}: ${text}`,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.database.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** The agents on a gateway's state, as the gateway builds them. */
export function embeddedAgents({ parts }: TemporaryGateway, limits = DEFAULT_MODEL_TURN_LIMITS): EmbeddedAgents {
  const approvals = new Approvals({ ...parts, queue: () => Promise.resolve() });
  return new EmbeddedAgents({ ...parts, turns: new AgentTurns({ ...parts, approvals, limits }) });
}
