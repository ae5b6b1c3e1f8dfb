import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { baseConfig } from "./fixture.ts";
import type { GatewayFixture } from "./fixture.ts";

/** Options of {@link RULES}. */
export interface RulesOptions {
  /** Calls whose text holds it are denied. */
  readonly deny?: string;
  /** A route that answers with `says`. */
  readonly route?: string;
  readonly says?: string;
  /** Calls whose text holds `wait` wait in the policy until there is this file. */
  readonly gate?: string;
  /** A line is appended for each thing that happens to the plugin. */
  readonly diary?: string;
  readonly breaks?: "constructor" | "apply" | "load" | "route" | "shutdown";
}

/** A plugin of one file that does what its options say. */
const RULES = `
import { appendFileSync, existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { WebhookIngress, type Denial, type GatewayHost, type GatewayPlugin, type RunSpec } from "reveille";

interface Options { deny?: string; route?: string; says?: string; gate?: string; diary?: string; breaks?: string }

export default class Rules implements GatewayPlugin {
  readonly #options: Options;
  constructor(options: Options) {
    this.#options = options;
    this.#breaksIn("constructor");
  }
  apply(host: GatewayHost): void {
    const { route, says = "" } = this.#options;
    host.lifecycle.onShutdown.tapPromise("NAME", async () => {
      this.#note("shut down");
      if (this.#options.breaks === "shutdown") throw new Error("cannot let go");
    });
    this.#breaksIn("apply");
    WebhookIngress.hooks(host).policy.tapPromise("NAME", (run) => this.#judge(run));
    host.lifecycle.onConfigLoad.tap("NAME", ({ reason, onCommit }) => {
      this.#breaksIn("load");
      onCommit(() => this.#note("commit " + reason));
    });
    host.lifecycle.onHttpRoute.tap("NAME", (router) => {
      this.#breaksIn("route");
      if (route) router.register({ path: route, match: "exact", handler: (_req, res) => void res.end(says) });
    });
    this.#note("applied");
  }
  async #judge(run: RunSpec): Promise<Denial | undefined> {
    const { deny, gate } = this.#options;
    const text = run.kind === "wake" ? run.text : run.message;
    if (gate && text.includes("wait")) {
      this.#note("waits");
      while (!existsSync(gate)) await sleep(5);
    }
    return deny && text.includes(deny) ? { deny: "NAME takes no call about " + deny + "." } : undefined;
  }
  #note(what: string): void {
    if (this.#options.diary) appendFileSync(this.#options.diary, what + "\\n");
  }
  #breaksIn(place: string): void {
    if (this.#options.breaks === place) throw new Error("broke in " + place);
  }
}
`;

/** Writes a plugin into a folder of its name; its own source when none is given. */
export function writePlugin(fixture: GatewayFixture, id: string, source = RULES.replaceAll("NAME", id)): void {
  const folder = join(fixture.folder, id);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "plugin.json"), JSON.stringify({ id, entry: "main.ts", pluginApi: "1" }));
  writeFileSync(join(folder, "main.ts"), source);
}

/** The base configuration with these plugins, by id. */
export function configWith(plugins: Readonly<Record<string, RulesOptions>>, hooks: object = {}): object {
  const entries = Object.entries(plugins).map(([id, config]) => [id, { config }] as const);
  return {
    ...baseConfig,
    hooks: { ...baseConfig.hooks, ...hooks },
    plugins: { load: { paths: entries.map(([id]) => `./${id}`) }, entries: Object.fromEntries(entries) },
  };
}

/** What a plugin has written into its diary, oldest first. */
export function readDiary(file: string): readonly string[] {
  return existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : [];
}
