/** The first hour of a new user, by a clock: from a clone to a signed event, a model's answer and a message in Telegram. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
const BOT = "123456:token-of-the-bot";
const STEP_TIMEOUT_MS = 300_000;

const chunk = {
  id: "c",
  object: "chat.completion.chunk",
  created: 0,
  model: "m",
  choices: [{ index: 0, delta: { content: "The build is red." }, finish_reason: "stop" }],
};

interface Step {
  readonly what: string;
  readonly seconds: number;
}

/** Runs it once, with a home of its own; the model and Telegram are servers on loopback. */
export async function reportFirstHour(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "reveille-first-hour-"));
  const model = await Loopback.listen((_req, answer) =>
    answer("text/event-stream", `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`),
  );
  const telegram = await Loopback.listen((_req, answer) => answer("application/json", '{"ok":true}'));
  const clone = new Clone(folder);
  const steps: Step[] = [];
  const startMs = performance.now();
  const done = (what: string): void => void steps.push({ what, seconds: (performance.now() - startMs) / 1_000 });
  try {
    await clone.run("git", "clone", "--quiet", ROOT, clone.folder);
    done("`git clone`, of a folder on this machine");
    await clone.run("npm", "ci");
    done("`npm ci`");
    const url = await clone.serve();
    done("`npm start` says that it listens");
    await clone.reveille("add", "github");
    await clone.reveille("send", "github", "--url", url);
    done("a signed event of GitHub is accepted: `reveille add github`, `reveille send github`");
    await clone.reveille("config", "set", "models.providers.local", `{ baseUrl: "${model.url}/v1" }`);
    await clone.reveille("config", "set", "agents.defaults.model", '"local/m"');
    const channel = { preset: "telegram", secret: BOT, to: "42", url: `${telegram.url}/bot{{secret}}/sendMessage` };
    await clone.reveille("config", "set", "channels.telegram", JSON.stringify(channel));
    await clone.reveille("config", "set", "hooks.github.channel", '"telegram"');
    await clone.reveille("send", "github", "--url", url);
    await model.called;
    done("a model is asked about the next event: four times `reveille config set`, `reveille send github`");
    await telegram.called;
    done("its answer is in Telegram");
  } finally {
    await clone.stop();
    await Promise.all([model.close(), telegram.close()]);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
  return `## The first hour

By the script \`bench/first-hour.ts\`, which does what [the tutorial](../docs/start/tutorial.md) says, without the time in which a person reads and types. The packages are in the cache of npm. The model and Telegram are servers on loopback that answer at once.

| until | seconds |
|---|---|
${steps.map(({ what, seconds }) => `| ${what} | ${seconds.toFixed(1)} |`).join("\n")}
`;
}

/** A clone of this repository, and the home of its gateway. */
class Clone {
  readonly folder: string;
  readonly #env: NodeJS.ProcessEnv;
  #gateway: ChildProcess | undefined;

  constructor(folder: string) {
    this.folder = join(folder, "clone");
    const home = join(folder, "home");
    mkdirSync(home);
    const { npm_config_cache: cache = join(process.env["HOME"] ?? home, ".npm") } = process.env;
    this.#env = { ...process.env, HOME: home, npm_config_cache: cache };
  }

  /** Rejects with the output of a command that fails. */
  async run(program: string, ...args: readonly string[]): Promise<void> {
    const cwd = program === "git" ? undefined : this.folder;
    const child = spawn(program, args, { cwd, env: this.#env, timeout: STEP_TIMEOUT_MS });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (text: Buffer) => (output += text.toString()));
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject).once("close", resolve);
    });
    if (code !== 0) throw new Error(`${[program, ...args].join(" ")} ended with ${code}:\n${output}`);
  }

  reveille(...args: readonly string[]): Promise<void> {
    return this.run("npm", "run", "--silent", "reveille", "--", ...args);
  }

  /** Starts the gateway on a free port; resolves with its URL. */
  async serve(): Promise<string> {
    const gateway = spawn("npm", ["start", "--", "--port", "0"], {
      cwd: this.folder,
      env: this.#env,
      detached: true,
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#gateway = gateway;
    let output = "";
    return new Promise((resolve, reject) => {
      gateway.once("close", (code) => reject(new Error(`npm start ended with ${code}`)));
      gateway.stdout.on("data", (text: Buffer) => {
        output += text.toString();
        const [url] = /http:\/\/127\.0\.0\.1:[1-9]\d*/u.exec(output) ?? [];
        if (url !== undefined) resolve(url);
      });
    });
  }

  async stop(): Promise<void> {
    const gateway = this.#gateway;
    if (gateway?.pid === undefined || gateway.exitCode !== null) return;
    const ended = new Promise((resolve) => gateway.once("close", resolve));
    process.kill(-gateway.pid, "SIGTERM");
    await ended;
  }
}

/** A service that the gateway calls. */
class Loopback {
  readonly url: string;
  /** Resolves when it was called. */
  readonly called: Promise<void>;
  readonly #server: Server;

  static async listen(
    handle: (req: IncomingMessage, answer: (type: string, body: string) => void) => void,
  ): Promise<Loopback> {
    const called = Promise.withResolvers<void>();
    const server = createServer((req, res) => {
      req.resume().once("end", () => {
        handle(req, (type, body) => res.writeHead(200, { "content-type": type }).end(body));
        called.resolve();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new Loopback(server, called.promise);
  }

  private constructor(server: Server, called: Promise<void>) {
    this.#server = server;
    this.called = called;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
