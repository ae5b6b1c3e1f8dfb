import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import JSON5 from "json5";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { RecordedProcess } from "./recorded-process.ts";

let terminal: RecordedProcess;

beforeEach(async () => {
  terminal = new RecordedProcess();
  await terminal.run("init");
  terminal.out = "";
});
afterEach(() => {
  terminal.remove();
});

const text = (): string => readFileSync(terminal.configFile, "utf8");
const beside = (name: string): string => join(dirname(terminal.configFile), name);

async function printed(...args: readonly string[]): Promise<string> {
  terminal.out = "";
  terminal.err = "";
  expect([await terminal.run(...args), terminal.err]).toEqual([0, ""]);
  return terminal.out;
}

async function refused(...args: readonly string[]): Promise<string> {
  const before = text();
  terminal.err = "";
  expect(await terminal.run(...args)).toBe(1);
  expect(text()).toBe(before);
  return terminal.err.trimEnd();
}

describe("reveille add", () => {
  it("writes the sender beside what is there, makes its secret for the owner alone, and shows the steps with both", async () => {
    const before = text();
    const shown = await printed("add", "github");
    const secret = readFileSync(beside("github-secret"), "utf8").trim();
    expect(secret).toMatch(/^[0-9a-f]{40}$/u);
    expect(statSync(beside("github-secret")).mode & 0o777).toBe(0o600);
    expect(statSync(terminal.configFile).mode & 0o777).toBe(0o600);
    for (const line of before.split("\n").filter((each) => each.includes("//"))) expect(text()).toContain(line);
    expect(await printed("config", "get", "hooks.github")).toBe(
      `${JSON.stringify({ secret: { file: "github-secret" } }, undefined, 2)}\n`,
    );
    expect(await printed("config", "get", "hooks.presets", "--json")).toBe('[\n  "github"\n]\n');
    expect(shown).toContain(secret);
    expect(shown).toContain("https://<your gateway>/hooks/github");
    expect(shown).toContain("The gateway is not running; it is there at the next start.");
    expect(shown).toContain("Try it: reveille send github ");
    expect(await printed("check")).toContain("is valid.");
  });

  it("leaves the secret to the group by which the gateway reads the configuration", async () => {
    chmodSync(terminal.configFile, 0o640);
    await printed("add", "github");
    expect(statSync(beside("github-secret")).mode & 0o777).toBe(0o640);
  });

  it("says that the running gateway has taken it, and the sample of its sender is accepted", async () => {
    await printed("config", "set", "gateway.port", "0");
    const { url, code } = await terminal.serve();
    const shown = await printed("add", "github", "--url", url);
    expect(shown).toContain("The running gateway has taken it.");
    expect(await printed("send", "github", "--url", url)).toMatch(/^delivery dlv_\w+: done/mu);
    expect(await printed("remove", "github", "--url", url)).toContain("answered 404");
    terminal.signals.emit("SIGTERM");
    await code;
  }, 60_000);

  it("says when the running gateway sets it aside, and why", async () => {
    const { url, code } = await terminal.serve();
    expect(await printed("add", "github", "--secret-env", "NO_SUCH", "--url", url)).toContain(
      "The running gateway has set it aside: hooks.github.secret: the environment variable NO_SUCH is not set. Its calls are answered 503 until that is mended.\n",
    );
    terminal.signals.emit("SIGTERM");
    await code;
  }, 30_000);

  it("shows a try of the configuration that it was given", async () => {
    const other = beside("other one.json5");
    await printed("init", "--config", other);
    expect(await printed("add", "github", "--config", other)).toContain(
      `Try it: reveille send github push --config '${other}'\n`,
    );
  });

  it("says that hooks are off, and waits for no gateway then", async () => {
    const { url, code } = await terminal.serve();
    await printed("config", "unset", "hooks.enabled");
    expect(await printed("add", "github", "--url", url)).toContain(
      "Hooks are off, so its calls are answered 404 until hooks.enabled is true.\n",
    );
    terminal.signals.emit("SIGTERM");
    await code;
  }, 30_000);

  it("takes a secret that the sender makes from a pipe, a question or a variable", async () => {
    terminal.piped = new TextEncoder().encode("whsec_c2VjcmV0LW9mLXN0cmlwZS1mb3ItdGVzdHM\n");
    await printed("add", "stripe");
    expect(readFileSync(beside("stripe-secret"), "utf8")).toBe("whsec_c2VjcmV0LW9mLXN0cmlwZS1mb3ItdGVzdHM\n");
    terminal.piped = undefined;
    expect(await refused("add", "svix")).toContain("reveille add svix < file");
    terminal.typed = ["whsec_c2VjcmV0LW9mLXN2aXgtZm9yLXRlc3RzLWE"];
    const shown = await printed("add", "svix");
    expect(shown).not.toContain("c2VjcmV0LW9mLXN2aXg");
    expect(readFileSync(beside("svix-secret"), "utf8")).toBe("whsec_c2VjcmV0LW9mLXN2aXgtZm9yLXRlc3RzLWE\n");
    process.env["GITLAB_SECRET_OF_TEST"] = "a-secret-of-gitlab-for-tests";
    terminal.env["GITLAB_SECRET_OF_TEST"] = "a-secret-of-gitlab-for-tests";
    await printed("add", "gitlab", "--secret-env", "GITLAB_SECRET_OF_TEST", "--set", "path=code");
    expect(JSON.parse(await printed("config", "get", "hooks.gitlab"))).toEqual({
      secret: { env: "GITLAB_SECRET_OF_TEST" },
      path: "code",
    });
    delete process.env["GITLAB_SECRET_OF_TEST"];
  });

  it("writes a setting as what its key takes: a text, a number or a list", async () => {
    const settings = ["timeoutSeconds=120", 'events=["issues.opened"]', "name=7", "path=code", "deliver=false"];
    await printed("add", "github", ...settings.flatMap((each) => ["--set", each]));
    expect(JSON.parse(await printed("config", "get", "hooks.github"))).toEqual({
      secret: { file: "github-secret" },
      timeoutSeconds: 120,
      events: ["issues.opened"],
      name: "7",
      path: "code",
      deliver: false,
    });
  });

  it("changes nothing where the file would not be valid, and leaves no secret behind", async () => {
    const message = await refused("add", "github", "--set", "nosuch=1");
    expect(message).toContain("hooks.github.nosuch");
    expect(existsSync(beside("github-secret"))).toBe(false);
    expect(await refused("add", "githb")).toContain('There is no preset "githb"');
    await printed("add", "github");
    expect(await refused("add", "github")).toContain("is there already");
  });

  it("is undone by remove, which keeps a secret that it did not write", async () => {
    const before = text();
    await printed("add", "github");
    expect(await printed("remove", "github")).toContain("delete the webhook in the sender's settings");
    expect(existsSync(beside("github-secret"))).toBe(false);
    expect(text().replaceAll(/\s/gu, "")).toBe(before.replaceAll(/\s/gu, ""));
    writeFileSync(beside("own"), "a-secret-of-the-owner-for-github", { mode: 0o600 });
    await printed("config", "set", "hooks.github", '{ secret: { file: "own" } }');
    await printed("config", "set", "hooks.presets", '["github"]');
    await printed("remove", "github");
    expect(existsSync(beside("own"))).toBe(true);
    expect(await refused("remove", "github")).toContain('There is no sender "github" in');
  });

  it("takes the name of a key of the block for no sender", async () => {
    await printed("config", "set", "hooks.mappings[0]", '{ match: { path: "own" }, messageTemplate: "{{text}}" }');
    for (const key of ["mappings", "presets", "senders", "enabled", "defaultSessionKey"]) {
      expect(await refused("remove", key)).toContain(`There is no sender "${key}" in`);
    }
  });

  it("removes a sender that is in the list of presets alone", async () => {
    await printed("config", "set", "hooks.presets", '["gmail"]');
    expect(await printed("remove", "gmail")).toContain("gmail is no longer in");
    expect(text()).not.toMatch(/^\s*presets:/mu);
  });

  it("removes a sender that has a name of its own, and not its preset's", async () => {
    const sender = (letter: string): string => `{ preset: "stripe", secret: "whsec_${letter.repeat(32)}" }`;
    await printed("config", "set", "hooks.senders", `{ "stripe-eu": ${sender("a")}, "stripe-us": ${sender("b")} }`);
    expect(await printed("remove", "stripe-eu")).toContain("stripe-eu is no longer in");
    expect(Object.keys(JSON5.parse<{ hooks: { senders: object } }>(text()).hooks.senders)).toEqual(["stripe-us"]);
    expect(await refused("remove", "stripe")).toContain('There is no sender "stripe"');
  });

  it("leaves the file of a secret that another sender has as well", async () => {
    await printed("add", "github");
    const other = '{ other: { preset: "github", secret: { file: "./github-secret" } } }';
    await printed("config", "set", "hooks.senders", other);
    await printed("remove", "github");
    expect(existsSync(beside("github-secret"))).toBe(true);
    expect(await printed("check", "--strict")).toContain("is valid.");
  });
});

describe("reveille config", () => {
  it("sets, reads and removes a value, and keeps every comment", async () => {
    const comments = text()
      .split("\n")
      .filter((line) => line.trim().startsWith("//"));
    expect(await printed("config", "get", "gateway.port")).toBe("18789\n");
    await printed("config", "set", "gateway.port", "19000");
    await printed("config", "set", "hooks.mappings[0]", '{ match: { path: "own" }, messageTemplate: "{{text}}" }');
    await printed("config", "set", "hooks.mappings[0].name", "Own words");
    expect(await printed("config", "get", "hooks.mappings[0].name")).toBe("Own words\n");
    await printed("config", "unset", "hooks.mappings[0].name");
    expect(await refused("config", "get", "hooks.mappings[0].name")).toContain("has no hooks.mappings[0].name");
    expect(await printed("config", "get", "gateway.port")).toBe("19000\n");
    for (const comment of comments) expect(text()).toContain(comment);
  });

  it("says what is set aside with a value, and not what was before", async () => {
    const set = async (value: string): Promise<string> => {
      terminal.err = "";
      expect(await terminal.run("config", "set", "hooks.mappings", value)).toBe(0);
      return terminal.err;
    };
    const broken = '{ id: "a", match: { path: "a" }, transform: { module: "a.js" } }';
    expect(await set(`[${broken}]`)).toMatch(
      /^warning {2}a is set aside, and its calls are answered 503: hooks\.mappings\[0\]\.transform\.module: .*there is no such file\n$/u,
    );
    expect(await set(`[${broken}, { id: "b", match: { path: "b" }, messageTemplate: "b" }]`)).toBe("");
  });

  it("says that a channel or a provider misses its secret", async () => {
    terminal.err = "";
    const telegram = '{ preset: "telegram", secret: { env: "NO_SUCH" }, to: "1" }';
    expect(await terminal.run("config", "set", "channels.telegram", telegram)).toBe(0);
    expect(terminal.err).toBe(
      "warning  channels.telegram.secret: the environment variable NO_SUCH is not set; the channel is set aside\n",
    );
    terminal.err = "";
    const provider = '{ baseUrl: "https://models.example.com/v1", apiKey: { env: "NO_KEY" } }';
    expect(await terminal.run("config", "set", "models.providers.far", provider)).toBe(0);
    expect(terminal.err).toMatch(
      /^warning {2}models\.providers\.far\.apiKey: .*its agents' runs wait until it can be read\n$/u,
    );
  });

  it("writes a number as a text where a text belongs", async () => {
    terminal.env["BOT"] = "123456:a-token-of-these-tests";
    await printed("config", "set", "channels.telegram", '{ preset: "telegram", secret: { env: "BOT" }, to: "1" }');
    await printed("config", "set", "channels.telegram.to", "-1001234567890123456789");
    expect(await printed("config", "get", "channels.telegram.to")).toBe("-1001234567890123456789\n");
    expect(await refused("config", "set", "gateway.port", "70000")).toContain("gateway.port: 70000 is more than");
  });

  it("refuses a value with which the file is not valid, by what check says of it", async () => {
    expect(await refused("config", "set", "gateway.port", "a lot")).toContain("gateway.port");
    expect(await refused("config", "unset", "gateway.auth.token")).toContain("gateway.auth.token");
    expect(await refused("config", "set", "hooks.mappings[7]", "{}")).toContain("There is no place hooks.mappings[7]");
    expect(await refused("config", "set", "gateway..port", "1")).toContain("is no path");
    writeFileSync(terminal.configFile, "{ gateway: ", { mode: 0o600 });
    expect(await refused("config", "get", "gateway")).toContain("is not JSON5");
  });

  it("says which keys a gateway that runs takes at once, and which at the next start", async () => {
    expect(await printed("config", "set", "gateway.port", "19000")).toBe(
      "gateway.port is set. It takes effect at the next start.\n",
    );
    expect(await printed("config", "unset", 'gateway["bind"]')).toBe(
      'gateway["bind"] is removed. It takes effect at the next start.\n',
    );
    expect(await printed("config", "set", "gateway", await printed("config", "get", "gateway"))).toBe(
      "gateway is set. A gateway that runs takes it at once, except gateway.port and gateway.bind, which take effect at the next start.\n",
    );
    expect(await printed("config", "set", "telemetry.otlp", '{ url: "http://127.0.0.1:4318" }')).toBe(
      "telemetry.otlp is set. It takes effect at the next start.\n",
    );
    expect(await printed("config", "set", "telemetry.otlp.ratio", "0.5")).toBe(
      "telemetry.otlp.ratio is set. It takes effect at the next start.\n",
    );
    expect(await printed("config", "set", "hooks.store", '{ url: "postgresql://u:p@127.0.0.1/reveille" }')).toBe(
      "hooks.store is set. It takes effect at the next start.\n",
    );
    expect(await printed("config", "set", "gateway.shutdownSeconds", "9")).toBe(
      "gateway.shutdownSeconds is set. A gateway that runs takes it at once.\n",
    );
  });

  it("leaves nothing behind when a signal ends it, neither a draft nor a change", async () => {
    const before = text();
    const { logger } = terminal;
    Object.defineProperty(terminal, "logger", { get: () => (terminal.signals.emit("SIGINT"), logger) });
    expect(await terminal.run("config", "set", "gateway.port", "19000")).toBe(130);
    expect([terminal.out, terminal.err, text(), readdirSync(dirname(terminal.configFile))]).toEqual([
      "",
      "",
      before,
      ["reveille.json5"],
    ]);
  });

  it("prints the schema by which editors complete the file", async () => {
    const schema = JSON.parse(await printed("config", "schema")) as {
      properties: { gateway: object; hooks: { properties: Record<string, object> } };
    };
    expect(Object.keys(schema.properties)).toContain("gateway");
    expect(schema.properties.hooks.properties).toHaveProperty("mappings");
    expect(schema.properties.hooks.properties).toHaveProperty("github");
  });
});
