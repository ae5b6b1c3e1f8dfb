import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import type { IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import JSON5 from "json5";
import { BotApiServer } from "./bot-api-server.ts";
import { eventually } from "./eventually.ts";
import { GatewayProcess, writeHostConfig } from "./gateway-process.ts";
import { hostConfig } from "./host-config.ts";
import { freePort } from "./in-process-host.ts";
import { openClawInstallation } from "./openclaw-installation.ts";
import { ScriptedModel } from "./scripted-model.ts";

/** A part of a configuration. */
type Section = Record<string, unknown>;

const FIXTURES = resolve(import.meta.dirname, "../fixtures/openclaw-hooks");
/** The value of `RECORDED_HOOK_TOKEN`. */
const TOKEN = "recorded-hook-token-of-a-variable";

/**
 * Of all configurations together: another list of agents has the host load every plugin anew, which takes
 * longer than all the calls.
 */
const AGENTS = {
  ownership: "explicit",
  entries: { main: {}, ops: {}, home: {}, night_watch: {} },
};
const SYSTEM_AGENT = { agentId: "main" };
const MODELS = { "test/m": { alias: "quick" } };
/** An answer that takes longer will not come. */
const MAX_CALL_MS = 60_000;
/** The host takes a file of half the size of the one before for a broken one. */
const FILLER = "x".repeat(20_000);

interface RecordedHooks {
  readonly path?: string;
  readonly token: string;
  readonly mappings?: readonly object[];
}

/** The real gateway, in a home of its own, with one recorded configuration after the other. */
export class AdoptHost {
  readonly model: ScriptedModel;
  readonly botApi: BotApiServer;
  readonly file: string;
  readonly #home: string;
  readonly #port: number;
  #gateway: GatewayProcess | undefined;
  /** Where in the log what comes of the last configuration begins. */
  #from = 0;
  #restarts = 0;
  /** From the first adoption on the plugin stays loaded. */
  #isLoaded = false;
  #path = "/hooks";
  #token = "";

  static async prepare(): Promise<AdoptHost> {
    return new AdoptHost(await ScriptedModel.start(), await BotApiServer.start(), await freePort());
  }

  private constructor(model: ScriptedModel, botApi: BotApiServer, port: number) {
    const home = mkdtempSync(join(tmpdir(), "reveille-adopt-"));
    mkdirSync(join(home, ".openclaw"), { mode: 0o700 });
    this.model = model;
    this.botApi = botApi;
    this.#home = home;
    this.#port = port;
    this.file = join(home, ".openclaw/openclaw.json");
  }

  get token(): string {
    return this.#token;
  }

  get log(): string {
    return this.#gateway?.log ?? "";
  }

  /** Waits for what calls lead to; a failure shows the end of the log. */
  async eventually(assertion: () => unknown): Promise<void> {
    await eventually(assertion, async () => ({ calls: this.model.calls, log: this.log }));
  }

  /** How often the host did not take up a configuration by itself. */
  get restarts(): number {
    return this.#restarts;
  }

  /** Writes a configuration with a recorded block; the built-in hooks have it then. */
  configure(name: string): void {
    this.#from = this.log.length;
    writeHostConfig(this.#home, this.#configOf(name));
  }

  /** The same with a block that the host would not take: it is adopted beside, before the host sees it. */
  async configureAdopted(name: string, adoptFile: (file: string) => Promise<string>): Promise<string> {
    const file = join(this.#home, ".openclaw/recorded.json");
    writeFileSync(file, JSON.stringify(this.#configOf(name)), { mode: 0o600 });
    const told = await adoptFile(file);
    this.#from = this.log.length;
    const adopted = JSON.parse(readFileSync(file, "utf8")) as Section;
    writeHostConfig(this.#home, { ...adopted, hooks: { enabled: false } });
    return told;
  }

  #configOf(name: string): Section {
    const recorded = readFileSync(join(FIXTURES, `${name}.json5`), "utf8");
    const { hooks } = JSON5.parse<{ hooks: RecordedHooks }>(recorded);
    const base = hostConfig({
      home: this.#home,
      port: this.#port,
      modelUrl: this.model.url,
      botApiUrl: this.botApi.url,
      pluginId: "reveille",
      block: undefined,
    }) as { agents: { defaults: object } };
    const load = { paths: [openClawInstallation().plugin] };
    const plugins = this.#isLoaded
      ? { allow: ["telegram", "reveille"], load, entries: { reveille: this.#entry() } }
      : { allow: ["telegram"], load };
    this.#path = `/${(hooks.path ?? "hooks").trim().replaceAll(/^\/+|\/+$/g, "")}`;
    this.#token = hooks.token.startsWith("${") ? TOKEN : hooks.token;
    const agents = { ...AGENTS, defaults: { ...base.agents.defaults, models: MODELS, systemAgent: SYSTEM_AGENT } };
    const session = { notifyOnCreate: false };
    return { ...base, agents, session, plugins, hooks: withoutTurns(hooks), env: { vars: { FILLER } } };
  }

  /** Resolves once somebody, the host itself or the plugin, answers at the hooks. */
  async start(): Promise<void> {
    const path = this.#path;
    this.#from = 0;
    await GatewayProcess.start({
      home: this.#home,
      port: this.#port,
      env: { RECORDED_HOOK_TOKEN: TOKEN },
      ready: (gateway) => gateway.until(() => refusesStrangers(`${gateway.url}${path}/wake`), `${path} is answered`),
      spawned: (gateway) => void (this.#gateway = gateway),
    });
  }

  /** Resolves once the hooks of the last configuration are answered by the one or the other. */
  async untilAnsweredBy(who: "built-in" | "reveille"): Promise<void> {
    const isAnswered = async (): Promise<boolean> => {
      // The prefix alone is no hook, but what is said about it comes after the token.
      const answer = await this.#post("/", {}, "bearer").catch(() => undefined);
      return answer?.status === 404 && answer.text.startsWith("{") === (who === "reveille");
    };
    const what = `${this.#path} is answered by ${who}`;
    await this.#running().until(async () => (await isAnswered()) || this.#hasGivenUp(), what);
    if (!(await isAnswered())) {
      this.#restarts++;
      await this.#running().stop();
      await this.start();
    }
    await this.#running().until(isAnswered, what);
    this.#from = this.log.length;
    this.#isLoaded ||= who === "reveille";
  }

  /** A host that is very busy gives up loading a plugin after some seconds; its owner is told to restart it then. */
  #hasGivenUp(): boolean {
    return this.log.includes("config reload failed", this.#from);
  }

  /** Calls a hook below the prefix, with the token in one of its two carriers. */
  async call(path: string, body: object, carrier: "bearer" | "header"): Promise<number> {
    return (await this.#post(`/${path}`, body, carrier)).status;
  }

  writeTransform(name: string, source: string): void {
    const file = join(this.#home, ".openclaw/hooks/transforms", name);
    mkdirSync(resolve(file, ".."), { recursive: true });
    writeFileSync(file, source);
  }

  async stop(): Promise<void> {
    await this.#gateway?.kill();
    await this.model.stop();
    await this.botApi.stop();
    rmSync(this.#home, { recursive: true, force: true, maxRetries: 5 });
  }

  /** As it was adopted, without the block: a plugin whose entry stays as it is need not be loaded anew. */
  #entry(): Section {
    const written = JSON.parse(readFileSync(this.file, "utf8")) as { plugins: { entries: { reveille: Section } } };
    const { config: _, ...entry } = written.plugins.entries.reveille;
    return entry;
  }

  #running(): GatewayProcess {
    if (this.#gateway === undefined) throw new Error("The gateway is not running.");
    return this.#gateway;
  }

  async #post(path: string, body: object, carrier: "bearer" | "header"): Promise<{ status: number; text: string }> {
    const text = JSON.stringify(body);
    const token =
      carrier === "bearer" ? { authorization: `Bearer ${this.#token}` } : { "X-OpenClaw-Token": this.#token };
    // A connection of its own: the host is busy for seconds while it loads plugins, and closes those that wait.
    const sent = request(this.#running().url + this.#path + path, {
      method: "POST",
      agent: false,
      signal: AbortSignal.timeout(MAX_CALL_MS),
      headers: { "content-type": "application/json", "content-length": Buffer.byteLength(text), ...token },
    }).end(text);
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    let answered = "";
    for await (const chunk of answer) answered += String(chunk);
    return { status: answer.statusCode ?? 0, text: answered };
  }
}

/** True when a call without a token is refused, as whoever has the hooks does. */
async function refusesStrangers(url: string): Promise<boolean> {
  try {
    const { status } = await fetch(url, { method: "POST", signal: AbortSignal.timeout(MAX_CALL_MS) });
    return status === 401 || status === 429;
  } catch {
    return false;
  }
}

/** Runs do not have the main session take a turn beside each: that would take longer than the runs. */
function withoutTurns(hooks: RecordedHooks): RecordedHooks {
  const { mappings } = hooks;
  if (mappings === undefined) return hooks;
  const quiet = (mapping: { action?: string }): object =>
    mapping.action === "wake" ? mapping : { wakeMode: "next-heartbeat", ...mapping };
  return { ...hooks, mappings: mappings.map(quiet) };
}
