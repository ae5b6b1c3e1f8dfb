import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { expect } from "vitest";
import type { EmbeddedGateway } from "../../src/hosts/embedded/gateway.ts";
import { baseConfig, callHook, GatewayFixture } from "../unit/hosts/embedded/gateway/fixture.ts";
import { CHROMIUM } from "./chromium.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Text that would run, were it ever taken for markup or a link. */
export const HOSTILE = `<img src=x onerror="document.title='broken'"><script>document.title='broken'</script>'"]]>\u202E`;

const GITHUB_SECRET = "secret-of-the-github-hook-here";

const MAPPINGS = [
  {
    id: "build",
    match: { path: "build" },
    messageTemplate: "Build {{id}}: {{text}}",
    name: "Build {{id}}",
    wakeMode: "next-heartbeat",
    budget: { perHour: 100_000 },
  },
  // They filter every call, so that many deliveries need no run.
  ...["many", "some"].map((id) => ({
    id,
    match: { path: id },
    when: "payload.amount > 10.0",
    messageTemplate: "{{id}}",
  })),
  // Nothing listens at the URL of its channel, so that each of its runs fails.
  {
    id: "pager",
    match: { path: "pager" },
    mode: "deliver",
    messageTemplate: "{{text}}",
    channel: "webhook",
    to: "owner",
    retry: { delivery: { attempts: 1 } },
  },
  // Its runs share a session.
  {
    id: "talk",
    match: { path: "talk" },
    messageTemplate: "{{text}}",
    sessionKey: "hook:talk",
    wakeMode: "next-heartbeat",
  },
  { id: "repository", match: { path: "github" }, preset: "github", secret: GITHUB_SECRET },
  { id: "large", match: { path: "large" }, when: "payload.amount > 10.0", messageTemplate: "Large {{amount}}" },
];

const CONFIG = {
  ...baseConfig,
  channels: { webhook: { url: "http://127.0.0.1:9/", secret: `whsec_${Buffer.alloc(32, 7).toString("base64")}` } },
  hooks: { ...baseConfig.hooks, mappings: MAPPINGS },
};

/** A gateway with deliveries, and a browser that is signed in to its console. */
export class OpenedConsole implements AsyncDisposable {
  readonly gateway: EmbeddedGateway;
  readonly fixture: GatewayFixture;
  readonly page: Page;
  /** What the page reported as broken: errors, refused scripts, failed requests. */
  readonly problems: string[] = [];
  readonly #browser: Browser;

  static async open(options: BrowserContextOptions = {}): Promise<OpenedConsole> {
    const fixture = new GatewayFixture(CONFIG);
    const gateway = await fixture.start();
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
    const context = await browser.newContext({ viewport: { width: 1_200, height: 800 }, ...options });
    const opened = new OpenedConsole({ gateway, fixture, browser, page: await context.newPage() });
    await opened.page.goto(gateway.createConsoleLink());
    await opened.page.getByRole("heading", { name: "Overview" }).waitFor();
    return opened;
  }

  private constructor(parts: { gateway: EmbeddedGateway; fixture: GatewayFixture; browser: Browser; page: Page }) {
    this.gateway = parts.gateway;
    this.fixture = parts.fixture;
    this.page = parts.page;
    this.#browser = parts.browser;
    this.page.on("pageerror", (error) => this.problems.push(String(error)));
    this.page.on("console", (message) => {
      if (message.type() === "error") this.problems.push(message.text());
    });
  }

  /** Calls a hook and returns the id of the delivery. */
  async call(path: string, body: object): Promise<string> {
    const response = await callHook(this.gateway, `/hooks/${path}`, body);
    const answer = (await response.json()) as { deliveryId?: string };
    return answer.deliveryId ?? "";
  }

  /** Calls the hook of GitHub with an event that it has signed. */
  async callSigned(event: object): Promise<void> {
    const body = JSON.stringify(event);
    const digest = createHmac("sha256", GITHUB_SECRET).update(body).digest("hex");
    const headers = { "content-type": "application/json", "x-hub-signature-256": `sha256=${digest}` };
    const init = { method: "POST", headers: { ...headers, "x-github-event": "ping" }, body };
    expect((await fetch(`${this.gateway.url}/hooks/github`, init)).status).toBe(200);
  }

  /** Adds a wait of the main session. */
  async addWait(wait: object): Promise<void> {
    const headers = { authorization: `Bearer ${baseConfig.gateway.auth.token}`, "content-type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify(wait) };
    expect((await fetch(`${this.gateway.url}/api/v1/waits`, init)).status).toBe(201);
  }

  async show(fragment: string): Promise<void> {
    await this.page.goto(`${this.gateway.url}/console/#/${fragment}`);
  }

  /** What axe finds on the page that is shown. */
  async accessibilityProblems(): Promise<string[]> {
    await this.page.evaluate(AXE);
    return await this.page.evaluate<
      string[]
    >(`axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
      violations.map(({ id, nodes }) => id + ": " + nodes[0].html + " " + nodes[0].failureSummary))`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close();
    await this.fixture.remove();
  }

  /** The configuration with other keys in one mapping. */
  configWith(id: string, keys: object): object {
    const mappings = MAPPINGS.map((mapping) => (mapping.id === id ? { ...mapping, ...keys } : mapping));
    return { ...CONFIG, hooks: { ...CONFIG.hooks, mappings } };
  }

  /** The last check of each test: nothing was refused by the policy of the page, and no text ran. */
  async expectUnbroken(): Promise<void> {
    expect(this.problems).toEqual([]);
    expect(await this.page.title()).not.toBe("broken");
  }
}
