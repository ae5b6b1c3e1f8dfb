import { generateKeyPairSync } from "node:crypto";
import { chownSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openDeliveredKeys } from "../../../src/auth/keys/delivered-keys.ts";
import { RecordedProcess } from "./recorded-process.ts";

const SECRET = "secret-of-the-command-tests-2c";
const WHSEC = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
let terminal: RecordedProcess;

beforeEach(() => {
  terminal = new RecordedProcess();
});
afterEach(() => {
  vi.unstubAllEnvs();
  terminal.remove();
});

function configure(hooks: object, gateway: object = {}): void {
  mkdirSync(dirname(terminal.configFile), { recursive: true });
  const config = {
    gateway: { auth: { token: "gateway-token-of-these-tests" }, shutdownSeconds: 5, ...gateway },
    agents: { defaults: { heartbeat: { every: "0m" } } },
    hooks: { enabled: true, token: "hook-token-of-these-tests-here", ...hooks },
  };
  writeFileSync(terminal.configFile, JSON.stringify(config), { mode: 0o600 });
}

/** Runs a command and gives what it printed. */
async function printed(...args: readonly string[]): Promise<string> {
  terminal.out = "";
  terminal.err = "";
  const code = await terminal.run(...args);
  expect([code, terminal.err]).toEqual([0, ""]);
  return terminal.out;
}

async function refused(...args: readonly string[]): Promise<string> {
  terminal.err = "";
  expect(await terminal.run(...args)).toBe(1);
  return terminal.err.trimEnd();
}

describe("reveille presets", () => {
  it("lists the built-in senders without any configuration, each with how it proves who it is", async () => {
    const lines = (await printed("presets")).split("\n");
    expect(lines.find((line) => line.startsWith("github "))).toMatch(
      /^github +GitHub +HMAC-SHA256 in x-hub-signature-256$/u,
    );
    expect(lines.find((line) => line.startsWith("telegram "))).toContain("shared secret in");
    expect(lines.find((line) => line.startsWith("google-pubsub "))).toContain("JWT");
    expect(lines.filter((line) => /^[a-z][\w-]* {2,}\S/u.test(line)).length).toBeGreaterThanOrEqual(46);
  });

  it("logs nothing that is no warning, also when transforms are loaded", async () => {
    configure({ mappings: [{ match: { path: "own" }, transform: { module: "own.mjs" } }] });
    const folder = join(dirname(terminal.configFile), "hooks", "transforms");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "own.mjs"), "export default () => ({});");
    await printed("presets", "show", "github");
    expect(terminal.logger.lines.filter(({ level }) => level === "info" || level === "debug")).toEqual([]);
  });

  it("marks those that are in use, with their path", async () => {
    configure({ presets: ["github"], github: { secret: SECRET, path: "code" } });
    expect(await printed("presets")).toMatch(/^github .*in use: \/code$/mu);
  });

  it("names the senders of hooks.senders", async () => {
    configure({ senders: { "org-one": { preset: "github", secret: SECRET, path: "code" } } });
    expect(await printed("presets")).toMatch(/^github .*in use: \/code \(org-one\)$/mu);
    const text = await printed("presets", "show", "org-one");
    expect(text).toContain("GitHub (github)");
    expect(text).toContain("It is in use as org-one under https://<your gateway>/hooks/code");
    expect(text).toContain("Try it: reveille send org-one ");
  });

  it("prints them as JSON", async () => {
    const rows = JSON.parse(await printed("presets", "--json")) as { name: string }[];
    expect(rows.find(({ name }) => name === "stripe")).toEqual({
      name: "stripe",
      title: "Stripe",
      scheme: "HMAC-SHA256 in stripe-signature",
      paths: [],
      senders: [],
    });
  });

  it("lists the built-in ones, with what is wrong, when the configuration is not valid", async () => {
    configure({ presets: ["githb"] });
    expect(await terminal.run("presets")).toBe(0);
    expect(terminal.err).toMatch(/^The configuration is not valid, .*\n {2}hooks\.presets\[0\]/u);
    expect(terminal.out).toMatch(/^github /mu);
  });
});

describe("reveille presets show", () => {
  it("says what to write in the configuration, and what to paste where", async () => {
    const text = await printed("presets", "show", "github");
    expect(text).toContain('presets: ["github"]');
    expect(text).toContain('github: { secret: { file: "github-secret" } }');
    expect(text).toContain(join(dirname(terminal.configFile), "github-secret"));
    expect(text).toContain("https://<your gateway>/hooks/github");
    expect(text).toContain("Try it: reveille send github ");
    expect(text).not.toMatch(/\{url\}|\{secret\}/u);
  });

  it("needs no valid configuration: it helps to write one", async () => {
    configure({ presets: ["githb"], tokn: "x" });
    expect(await terminal.run("presets", "show", "github")).toBe(0);
    expect(terminal.err).toContain("hooks.tokn");
    expect(terminal.out).toContain("https://<your gateway>/hooks/github");
    terminal.err = "";
    expect(await terminal.run("presets", "show", "no-such")).toBe(1);
    expect(terminal.err).toContain('There is no preset "no-such"');
  });

  it("names the keys that a preset needs besides its secret", async () => {
    expect(await printed("presets", "show", "google-pubsub")).toMatch(/"google-pubsub": \{ .*audience: "\.\.\."/u);
  });

  it("shows the URL of the gateway once it is in use", async () => {
    configure({ presets: ["github"], github: { secret: SECRET }, publicUrl: "https://gateway.example.com" });
    const text = await printed("presets", "show", "github");
    expect(text).toContain("It is in use under https://gateway.example.com/hooks/github");
    expect(text).not.toContain(SECRET);
  });

  it("says which presets there are when there is none of that name", async () => {
    expect(await refused("presets", "show", "githb")).toMatch(/^There is no preset "githb"\. There are: .*github/u);
  });
});

describe("reveille send", () => {
  it("signs as the named sender does, with its secret and to its path", async () => {
    const quiet = { preset: "github", deliver: false, wakeMode: "next-heartbeat" };
    const senders = {
      "org-one": { ...quiet, secret: SECRET },
      "org-two": { ...quiet, secret: `${SECRET}-of-two`, path: "two" },
    };
    configure({ senders });
    const { url } = await terminal.serve();
    for (const name of ["org-one", "org-two", "github"]) {
      expect(await printed("send", name, "push", "--url", url)).toMatch(/^2\d\d .*\n\{"ok":true,/u);
    }
    const listed = await printed("deliveries", "list", "--url", url);
    expect([listed.includes("org-one"), listed.includes("two")]).toEqual([true, true]);
    expect(await printed("hooks", "list", "--url", url)).toMatch(/org-one[^]*org-two/u);
  });

  it("signs a sample as its sender would, posts it and prints the answer and the delivery's final state", async () => {
    vi.stubEnv("GITHUB_TEST_SECRET", SECRET);
    configure({
      presets: ["github", "gmail"],
      github: { secret: { env: "GITHUB_TEST_SECRET" }, deliver: false, wakeMode: "next-heartbeat" },
    });
    const { url, code } = await terminal.serve();
    const text = await printed("send", "github", "push", "--url", url);
    expect(text).toMatch(/^200 OK\n\{"ok":true,/u);
    expect(text).toMatch(/^delivery dlv_\w+: done$/mu);
    expect(text).toMatch(/^ {2}agent run run_\w+: done$/mu);
    expect(text).not.toContain(SECRET);

    expect(await printed("send", "github", "ping", "--url", url)).toMatch(/^delivery dlv_\w+: filtered \(/mu);
    expect(await printed("send", "gmail", "--url", url)).toMatch(/^delivery dlv_\w+: done$/mu);

    const file = join(terminal.homeDir, "body.json");
    writeFileSync(file, '{"repository":{"full_name":"acme/own"},"sender":{"login":"ada"}}');
    expect(await printed("send", "github", "push", "--file", file, "--url", url)).toContain("200 OK");
    writeFileSync(file, "{");
    expect(await refused("send", "github", "push", "--file", file, "--url", url)).toContain("is not JSON");

    // The running gateway keeps the value that it has read.
    vi.stubEnv("GITHUB_TEST_SECRET", "another-secret-of-the-tests");
    terminal.out = "";
    expect(await terminal.run("send", "github", "push", "--url", url)).toBe(1);
    expect(terminal.out).toMatch(/^401 Unauthorized/u);
    expect(terminal.err).toContain("may still use an older configuration");
    terminal.signals.emit("SIGTERM");
    expect(await code).toBe(0);
  });

  it("sends a new delivery each time; with --same a second call is a copy, and is called a duplicate", async () => {
    const quiet = { deliver: false, wakeMode: "next-heartbeat" };
    configure({ presets: ["github", "svix"], github: { secret: SECRET, ...quiet }, svix: { secret: WHSEC, ...quiet } });
    const { url, code } = await terminal.serve();
    for (const preset of ["github", "svix"]) {
      const ids = [await printed("send", preset, "--url", url), await printed("send", preset, "--url", url)].map(
        (text) => /^delivery (dlv_\w+): done$/mu.exec(text)?.[1],
      );
      expect([ids[0] === undefined, ids[0] === ids[1]]).toEqual([false, false]);
      const first = /^delivery (dlv_\w+): done$/mu.exec(await printed("send", preset, "--same", "--url", url))?.[1];
      const copy = await printed("send", preset, "--same", "--url", url);
      expect(copy).toMatch(new RegExp(`^delivery dlv_\\w+: duplicate of ${first}, which is done; nothing ran$`, "mu"));
      expect(copy).toContain("leave out --same");
    }
    terminal.signals.emit("SIGTERM");
    expect(await code).toBe(0);
  });

  it("signs with a private key that it is given, for a route of whose sender one has the key", async () => {
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const secret = publicKey.export({ type: "spki", format: "der" }).subarray(-32).toString("hex");
    configure({ presets: ["discord-events"], "discord-events": { secret, deliver: false } });
    const pem = join(terminal.homeDir, "key.pem");
    writeFileSync(pem, privateKey.export({ type: "pkcs8", format: "pem" }));
    const { url, code } = await terminal.serve();
    expect(await refused("send", "discord-events", "--url", url)).toContain("--key key.pem");
    expect(await printed("send", "discord-events", "--key", pem, "--url", url)).toMatch(/^204 No Content/u);
    terminal.signals.emit("SIGTERM");
    await code;
  });

  it("says what is missing: a configuration, the preset in it, a sample of that name, a gateway", async () => {
    expect(await refused("send", "github")).toBe("There is no configuration; write one with: reveille init");
    configure({});
    expect(await refused("send", "github")).toContain('hooks.presets does not have "github"');
    configure({ presets: ["github"], github: { secret: SECRET } });
    expect(await refused("send", "github", "no-such")).toMatch(/has no sample "no-such"\. It has: .*push/u);
    expect(await refused("send", "github", "push", "--url", "http://127.0.0.1:9")).toContain("Is it running?");
    terminal.err = "";
    expect(await terminal.run("send", "github", "--wait", "soon")).toBe(1);
    expect(terminal.err).toContain("whole number");
  });
});

describe("reveille keys", () => {
  async function deliver(): Promise<string> {
    configure({}, { port: 9 });
    const stateDir = join(dirname(terminal.configFile), "state");
    mkdirSync(stateDir, { recursive: true, mode: 0o700 });
    const file = join(stateDir, "sender-keys.json");
    const opened = await openDeliveredKeys({ file, clock: { now: () => Date.now() }, logger: terminal.logger });
    expect(await opened.accept("notion", "secret_delivered_by_notion")).toBe(true);
    return file;
  }

  it("lists the routes whose sender has delivered one, and prints it only when asked to", async () => {
    expect(await printed("keys")).toBe("No sender has delivered a key.\n");
    await deliver();
    expect(await printed("keys")).toBe("notion\n");
    expect(await printed("keys", "--show", "notion")).toBe("secret_delivered_by_notion\n");
    expect(await refused("keys", "--show", "asana")).toBe('No key was delivered on the route "asana".');
  });

  it("forgets one, so that the sender can deliver another", async () => {
    await deliver();
    expect(await printed("keys", "--forget", "notion")).toContain('The key of "notion" is forgotten.');
    expect(await printed("keys")).toBe("No sender has delivered a key.\n");
    expect(await refused("keys", "--forget", "notion")).toBe('No key was delivered on the route "notion".');
  });

  it.skipIf(process.getuid?.() !== 0)("forgets one as root, and leaves the file to the gateway's user", async () => {
    const file = await deliver();
    chownSync(file, 65_534, 65_533);
    expect(await printed("keys", "--forget", "notion")).toContain('The key of "notion" is forgotten.');
    const { uid, gid, mode } = statSync(file);
    expect([uid, gid, mode & 0o777]).toEqual([65_534, 65_533, 0o600]);
  });

  it("does not forget one either under a gateway that runs at another port than the configuration's", async () => {
    await deliver();
    const { code } = await terminal.serve();
    expect(await refused("keys", "--forget", "notion")).toBe(
      `A gateway runs on ${join(dirname(terminal.configFile), "state")}; stop it first.`,
    );
    terminal.signals.emit("SIGTERM");
    await code;
    expect(await printed("keys", "--forget", "notion")).toContain('The key of "notion" is forgotten.');
  });

  it("does not forget one under a running gateway, which would write it back", async () => {
    configure({});
    const { url, code } = await terminal.serve();
    configure({}, { port: Number(new URL(url).port) });
    expect(await refused("keys", "--forget", "notion")).toBe(
      `A gateway runs under ${url}; stop it first, then forget the key.`,
    );
    terminal.signals.emit("SIGTERM");
    await code;
  });
});
