import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ConfigError } from "../../../../../src/config/errors.ts";
import type { GatewayOverrides } from "../../../../../src/hosts/embedded/config/gateway.ts";
import { readGatewayConfig } from "../../../../../src/hosts/embedded/config/read.ts";
import type { ReadConfig } from "../../../../../src/hosts/embedded/config/read.ts";

const token = "gateway-token-of-this-test";
const auth = { token };
let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "reveille-config-"));
  file = join(folder, "reveille.json5");
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

interface Given {
  readonly env?: Record<string, string>;
  readonly overrides?: GatewayOverrides;
}

function read(content: object | string, { env = {}, overrides = {} }: Given = {}): ReadConfig {
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content), { mode: 0o600 });
  return readGatewayConfig({ file, env, overrides });
}

/** The lines of the refusal. */
function refusal(content: object | string, given: Given = {}): string[] {
  try {
    read(content, given);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as ConfigError).issues.map(({ path, message }) => `${path}: ${message}`);
  }
  throw new Error("The configuration was not refused.");
}

/** The rights of an agent whose configuration says nothing of them. */
const NO_RIGHTS = { permissions: "deny", allowUntrusted: false, approvalTimeoutMs: 300_000, egress: [] as string[] };

describe("readGatewayConfig", () => {
  it("refuses an agent that asks where no channel can carry the question", () => {
    const agents = { list: [{ id: "main", permissions: "ask" }] };
    const off = { console: { enabled: false } };
    expect(refusal({ gateway: { auth }, agents, channels: off })).toEqual([
      expect.stringMatching(/^agents\.list\[0\]\.permissions: asks by its permissions, and no channel has a recipient/),
    ]);
    const pushed = { ...off, ntfy: { preset: "ntfy", to: "alerts" } };
    expect(read({ gateway: { auth }, agents, channels: pushed }).config.agents.list[0]?.permissions).toBe("ask");
  });

  it("warns of an agent that asks when the channel for its questions is set aside", () => {
    const agents = { list: [{ id: "main", permissions: "ask" }] };
    const phone = { preset: "telegram", secret: { env: "NOT_SET" }, to: "1" };
    const content = { gateway: { auth }, agents, channels: { console: { enabled: false }, phone } };
    expect(refusal(content)).toEqual([expect.stringMatching(/^channels\.phone\.secret: /)]);
    writeFileSync(file, JSON.stringify(content), { mode: 0o600 });
    const { warnings } = readGatewayConfig({ file, env: {}, setAside: { before: undefined } });
    expect(warnings.map(({ path }) => path)).toEqual(["channels.phone.secret", "agents.list[0].permissions"]);
  });

  it("goes without traces and closes the metrics when their secrets are missing, and everything else works", () => {
    const missing = { env: "NOT_SET" };
    const otlp = { url: "http://127.0.0.1:4318", headers: { authorization: missing } };
    const content = { gateway: { auth }, telemetry: { otlp, metrics: { token: missing } } };
    expect(refusal(content)).toHaveLength(2);
    writeFileSync(file, JSON.stringify(content), { mode: 0o600 });
    const { config, warnings } = readGatewayConfig({ file, env: {}, setAside: { before: undefined } });
    expect(config.telemetry).toEqual({ metricsTokens: [expect.stringMatching(/^[\w-]{36}$/u)], otlp: undefined });
    expect(warnings.map(({ path, message }) => `${path}: ${message}`)).toEqual([
      "telemetry.otlp.headers.authorization: the environment variable NOT_SET is not set; no traces are exported",
      "telemetry.metrics.token: the environment variable NOT_SET is not set; it opens /metrics once it can be read",
    ]);
    const { config: before } = read({ gateway: { auth }, telemetry: { metrics: { token: "scrape-token" } } });
    writeFileSync(file, JSON.stringify(content), { mode: 0o600 });
    const { telemetry } = readGatewayConfig({ file, env: {}, setAside: { before } }).config;
    expect(telemetry.metricsTokens).toEqual(["scrape-token"]);
  });

  it("fills in every default", () => {
    const { config, warnings } = read({ gateway: { auth } });
    expect(config).toEqual({
      file,
      gateway: {
        port: 18_789,
        host: "127.0.0.1",
        loopbackOnly: true,
        authTokens: [token],
        mcp: { readTokens: [], writeTokens: [], events: [] },
        trustedProxies: [],
        shutdownMs: 25_000,
      },
      agents: {
        list: [
          { id: "main", isDefault: true, model: undefined, systemPrompt: undefined, thinking: undefined, ...NO_RIGHTS },
        ],
        allowedModels: undefined,
        heartbeatEveryMs: 1_800_000,
        timeoutMs: 600_000,
      },
      models: { providers: new Map() },
      session: { mainKey: "main", isolatedRetentionMs: 30 * 24 * 3_600_000 },
      channels: { console: { enabled: true }, webhook: undefined, own: new Map() },
      plugins: { load: [], entries: new Map() },
      telemetry: { metricsTokens: [], otlp: undefined },
      hooks: undefined,
      secretFiles: [],
    });
    expect(warnings).toEqual([]);
  });

  it("reads every key, in JSON5, with variables from the environment", () => {
    const secret = `whsec_${Buffer.alloc(32).toString("base64")}`;
    writeFileSync(join(folder, "key"), "key-of-file\n", { mode: 0o600 });
    const { config } = read(
      `{
        // Comments, single quotes and trailing commas are JSON5.
        $schema: 'x',
        gateway: { port: 0, bind: 'lan', auth: { token: ['\${TOKEN}', { env: 'OLD' }] }, mcp: { read: 'read-token-of-this-test-case' }, trustedProxies: ['10.0.0.0/8'], shutdownSeconds: 1.5 },
        agents: {
          defaults: {
            model: { primary: 'fast' }, models: { 'a/one': { alias: 'fast' }, 'b/two/three': {} },
            heartbeat: { every: '0m' }, timeoutSeconds: 5,
          },
          list: [{ id: 'one' }, { id: 'two', default: true, model: 'b/two/three', systemPrompt: 'Be brief.', thinking: 'low' }],
        },
        models: { providers: {
          a: { baseUrl: 'http://127.0.0.1:1/v1', apiKey: { file: 'key' }, headers: { 'X-Org': { env: 'ORG' } }, api: 'openai-completions', models: [{ id: 'one', name: 'One' }] },
          b: { baseUrl: 'https://example.com' },
        } },
        session: { mainKey: 'home', isolatedRetention: '2w', isolatedMaxBytes: '2gb' },
        channels: { console: { enabled: false }, webhook: { url: 'https://example.com/x', secret: '${secret}', to: 'me', timeoutSeconds: 2 } },
        telemetry: { metrics: { token: ['first', { env: 'METRICS' }] }, otlp: { url: 'http://127.0.0.1:4318', headers: { 'x-key': { env: 'METRICS' } }, ratio: 0.5 } },
        plugins: { load: { paths: ['./p', '/q', '~/r'] }, entries: { p: { enabled: false, config: { a: 1 } }, q: {} } },
        hooks: { enabled: true, anything: '\${ORG}' },
      }`,
      { env: { TOKEN: token, OLD: "old-token-of-this-test-case", ORG: "acme", METRICS: "second" } },
    );
    expect(config).toEqual({
      file,
      gateway: {
        port: 0,
        host: "0.0.0.0",
        loopbackOnly: false,
        authTokens: [token, "old-token-of-this-test-case"],
        mcp: { readTokens: ["read-token-of-this-test-case"], writeTokens: [], events: [] },
        trustedProxies: ["10.0.0.0/8"],
        shutdownMs: 1_500,
      },
      agents: {
        list: [
          {
            id: "one",
            isDefault: false,
            model: "a/one",
            systemPrompt: undefined,
            thinking: undefined,
            ...NO_RIGHTS,
            egress: ["127.0.0.1:1"],
          },
          {
            id: "two",
            isDefault: true,
            model: "b/two/three",
            systemPrompt: "Be brief.",
            thinking: "low",
            ...NO_RIGHTS,
            egress: ["example.com"],
          },
        ],
        allowedModels: [
          { ref: "a/one", alias: "fast" },
          { ref: "b/two/three", alias: undefined },
        ],
        heartbeatEveryMs: 0,
        timeoutMs: 5_000,
      },
      models: {
        providers: new Map([
          ["a", { baseUrl: "http://127.0.0.1:1/v1", apiKey: "key-of-file", headers: { "X-Org": "acme" } }],
          ["b", { baseUrl: "https://example.com", apiKey: undefined, headers: {} }],
        ]),
      },
      session: { mainKey: "home", isolatedRetentionMs: 14 * 24 * 3_600_000, isolatedMaxBytes: 2 * 1_024 ** 3 },
      channels: {
        console: { enabled: false },
        webhook: { url: "https://example.com/x", secret, defaultTo: "me", timeoutMs: 2_000 },
        own: new Map(),
      },
      telemetry: {
        metricsTokens: ["first", "second"],
        otlp: { url: "http://127.0.0.1:4318", headers: { "x-key": "second" }, ratio: 0.5 },
      },
      plugins: {
        load: [join(folder, "p"), "/q", join(homedir(), "r")],
        entries: new Map([
          ["p", { enabled: false, config: { a: 1 } }],
          ["q", { enabled: true, config: undefined }],
        ]),
      },
      hooks: { enabled: true, anything: "acme" },
      secretFiles: [join(folder, "key")],
    });
  });

  it("takes a heartbeat in seconds or as a duration, up to a week", () => {
    const every = (written: number | string): number =>
      read({ gateway: { auth }, agents: { defaults: { heartbeat: { every: written } } } }).config.agents
        .heartbeatEveryMs;
    expect([every(90), every("90s"), every("1h"), every(0)]).toEqual([90_000, 90_000, 3_600_000, 0]);
    expect(refusal({ gateway: { auth }, agents: { defaults: { heartbeat: { every: "8d" } } } })).toEqual([
      'agents.defaults.heartbeat.every: "8d" is more than 7 days, or no duration',
    ]);
    const long = `${"1".repeat(120)}ms`;
    for (const part of [
      { agents: { defaults: { heartbeat: { every: long } } } },
      { session: { isolatedRetention: long } },
    ])
      expect(refusal({ gateway: { auth }, ...part })).toHaveLength(1);
  });

  it("lets the command line win over the file", () => {
    const { config } = read({ gateway: { auth, port: 1, bind: "lan" } }, { overrides: { host: "loopback", port: 2 } });
    expect(config.gateway).toMatchObject({ port: 2, host: "127.0.0.1", loopbackOnly: true });
  });

  it("reads the retention of transcripts, a day at least", () => {
    const kept = (written: number | string): number =>
      read({ gateway: { auth }, session: { isolatedRetention: written } }).config.session.isolatedRetentionMs;
    expect([kept(86_400), kept("36h"), kept("1d")]).toEqual([86_400_000, 129_600_000, 86_400_000]);
    for (const written of ["23h", "3651d"]) {
      expect(refusal({ gateway: { auth }, session: { isolatedRetention: written } })).toEqual([
        `session.isolatedRetention: "${written}" is not between 1 and 3650 days`,
      ]);
    }
    expect(refusal({ gateway: { auth }, session: { isolatedRetention: 60 } })).toEqual([
      "session.isolatedRetention: 60 is less than 86400",
    ]);
  });

  it("reads the bytes that transcripts may take, without a bound by default", () => {
    const bound = (written?: number | string): number | undefined =>
      read({ gateway: { auth }, session: written === undefined ? {} : { isolatedMaxBytes: written } }).config.session
        .isolatedMaxBytes;
    expect([bound(), bound(1_048_576), bound("64mb")]).toEqual([undefined, 1_048_576, 67_108_864]);
    expect(refusal({ gateway: { auth }, session: { isolatedMaxBytes: "1kb" } })).toEqual([
      "session.isolatedMaxBytes: must be between 1048576 and 1099511627776 bytes",
    ]);
    expect(refusal({ gateway: { auth }, session: { isolatedMaxBytes: 1 } })).toEqual([
      "session.isolatedMaxBytes: 1 is less than 1048576",
    ]);
  });

  it("names every key that is wrong, at once, with what to write instead", () => {
    const lines = refusal({
      gateway: { auth, prot: 1, port: 70_000 },
      agents: { list: [{ id: "Has Space" }] },
      chanels: {},
    });
    expect(lines).toEqual([
      'chanels: unknown key; did you mean "channels"?',
      'gateway.prot: unknown key; did you mean "port"?',
      "gateway.port: 70000 is more than 65535",
      'agents.list[0].id: "Has Space" is not a name of lower-case letters, digits, - and _',
    ]);
  });

  it("requires a gateway token, and a long one beyond loopback", () => {
    expect(refusal({})).toEqual(["gateway.auth.token: is required; make one with: openssl rand -hex 24"]);
    expect(refusal({ gateway: { auth: { token: " " } } })).toEqual(["gateway.auth.token: is empty"]);
    expect(read({ gateway: { auth: { token: "short" } } }).config.gateway.authTokens).toEqual(["short"]);
    const exposed = [
      [{ gateway: { auth: { token: "short" }, bind: "lan" } }, {}],
      [{ gateway: { auth: { token: "short" }, expose: { via: "ngrok", also: ["api"] } } }, {}],
      [{ gateway: { auth: { token: "short" } } }, { overrides: { host: "192.168.1.1" } }],
    ] as const;
    for (const [content, given] of exposed) {
      const [line] = refusal(content, given);
      expect(line).toMatch(
        /^gateway\.auth\.token: has fewer than 24 characters, and more than this machine reaches the gateway/u,
      );
    }
  });

  it("wants a long token of its own for each kind of MCP client", () => {
    const refused = (mcp: object): readonly string[] => refusal({ gateway: { auth, mcp } });
    const own = "a-token-of-its-own-for-clients";
    expect(refused({ read: "short" })).toEqual([
      "gateway.mcp.read: has fewer than 24 characters; make a longer one with: openssl rand -hex 24",
    ]);
    expect(refused({ read: own, write: own })).toEqual([
      "gateway.mcp.write: opens something else as well; make one of its own",
    ]);
    expect(refused({ read: token })[0]).toBe("gateway.mcp.read: opens something else as well; make one of its own");
  });

  it("refuses a tool for a public URL with keys that are not its own", () => {
    const refused = (expose: object): readonly string[] => refusal({ gateway: { auth, expose } });
    expect(refused({ via: "command", args: ["x"] })).toEqual([
      expect.stringMatching(/^gateway\.expose\.command: is required with via: "command"; write for example/u),
      'gateway.expose.args: is not for via: "command"; write them into command',
    ]);
    expect(refused({ via: "ngrok", command: ["x"], forwarded: true })).toEqual([
      'gateway.expose.command: is only for via: "command"; write further arguments into args',
      'gateway.expose.forwarded: is only for via: "command"',
    ]);
    for (const url of ["ftp://x.example", "https://u:p@x.example", "https://x.example/?q", "x.example"]) {
      expect(refused({ via: "ngrok", url })[0]).toMatch(/^gateway\.expose\.url: .*is not an http or https URL/u);
    }
  });

  it("never shows a secret in a refusal", () => {
    const secret = "sk-do-not-show-me-to-anyone";
    const lines = refusal({
      gateway: { auth: { token: { env: secret, file: secret } } },
      models: { providers: { a: { baseUrl: "http://x", apiKey: [secret, 5], headers: { b: { wrong: secret } } } } },
      channels: { webhook: { url: "http://x", secret: 12 } },
    });
    expect(lines).toHaveLength(4);
    expect(lines.join()).not.toContain(secret);
    const urls = refusal({
      gateway: { auth },
      models: {
        providers: { a: { baseUrl: `https://user:${secret}@example.com` }, b: { baseUrl: `file:///${secret}` } },
      },
      channels: { webhook: { url: secret, secret } },
    });
    expect(urls).toHaveLength(4);
    expect(urls.join()).not.toContain(secret);
  });

  it("names the variable and the key when the environment lacks it", () => {
    expect(refusal({ gateway: { auth: { token: "${RV_GONE}" } } })).toEqual([
      'gateway.auth.token: the environment variable RV_GONE is not set; set it, or write "$${RV_GONE}" for the characters themselves',
    ]);
    expect(refusal({ gateway: { auth: { token: { env: "RV_GONE" } } } })).toEqual([
      "gateway.auth.token: the environment variable RV_GONE is not set",
    ]);
  });

  it("refuses an address that is none, wherever it was given", () => {
    expect(refusal({ gateway: { auth, bind: "tailnet" } })).toEqual([
      'gateway.bind: "tailnet" is not loopback, lan or an IP address',
    ]);
    expect(refusal({ gateway: { auth } }, { overrides: { host: "example.com" } })).toEqual([
      '--host: "example.com" is not loopback, lan or an IP address',
    ]);
  });

  it("refuses a trusted proxy that is no address", () => {
    expect(refusal({ gateway: { auth, trustedProxies: ["10.0.0.1", "10.0.0.0/99"] } })).toEqual([
      'gateway.trustedProxies[1]: "10.0.0.0/99" is not an IP address or a CIDR block such as 10.0.0.0/8',
    ]);
  });

  it("refuses models that no run could use", () => {
    const providers = { a: { baseUrl: "http://x" } };
    const lines = refusal({
      gateway: { auth },
      models: { providers },
      agents: {
        defaults: { model: "nobody/x", models: { "a/x": { alias: "m" }, "a/y": { alias: "m" }, plain: {}, "b/z": {} } },
        list: [{ id: "one", model: "a/" }],
      },
    });
    expect(lines).toEqual([
      'agents.defaults.models["a/y"].alias: "m" is the alias of another model as well',
      'agents.defaults.models.plain: "plain" is not written <provider>/<model>',
      'agents.defaults.models["b/z"]: "b/z" names the provider "b", which models.providers does not define',
      'agents.defaults.model: "nobody/x" names the provider "nobody", which models.providers does not define',
      'agents.list[0].model: "a/" is not written <provider>/<model>',
    ]);
    expect(refusal({ gateway: { auth }, agents: { defaults: { models: {} } } })[0]).toContain(
      "agents.defaults.models: is empty",
    );
    expect(refusal({ gateway: { auth }, models: { providers: { "a/b": { baseUrl: "http://x" } } } })[0]).toContain(
      'models.providers["a/b"]: the name of a provider has no slashes',
    );
  });

  it("refuses two agents with one id, and two defaults", () => {
    expect(
      refusal({
        gateway: { auth },
        agents: {
          list: [
            { id: "a", default: true },
            { id: "a", default: true },
          ],
        },
      }),
    ).toEqual([
      'agents.list[1].id: "a" is the id of an earlier agent as well',
      "agents.list[1].default: agents.list[0] is the default already; mark one agent",
    ]);
  });

  it("refuses several secrets where one is used, and headers that none can have", () => {
    const lines = refusal({
      gateway: { auth },
      models: {
        providers: { a: { baseUrl: "http://x", apiKey: ["a", "b"], headers: { "bad name": "x", ok: "a\nb" } } },
      },
    });
    expect(lines).toHaveLength(3);
    expect(lines[0]).toBe("models.providers.a.apiKey: holds several secrets; one is used here, so write one");
    expect(lines[1]).toContain('models.providers.a.headers["bad name"]: is not a header');
    expect(lines[2]).toContain("models.providers.a.headers.ok: is not a header");
  });

  it("refuses a webhook secret that Standard Webhooks does not know", () => {
    const encode = (bytes: number): string => `whsec_${Buffer.alloc(bytes, 7).toString("base64")}`;
    for (const secret of ["plain", "whsec_!!!", encode(23), encode(65)]) {
      const [line] = refusal({ gateway: { auth }, channels: { webhook: { url: "http://x", secret } } });
      expect(line).toContain('channels.webhook.secret: is not "whsec_" and the base64 of 24 to 64 bytes');
    }
    for (const secret of [encode(24), encode(64)]) {
      const { channels } = read({ gateway: { auth }, channels: { webhook: { url: "http://x", secret } } }).config;
      expect(channels.webhook).toMatchObject({ secret, timeoutMs: 30_000, defaultTo: undefined });
    }
  });

  it("does not quote a text where a number or a switch belongs, unless it reads like one", () => {
    const secret = "SECRETPORT";
    const [port, retries] = refusal({ gateway: { auth, port: secret }, channels: { console: { enabled: secret } } });
    expect([port, retries].join()).not.toContain(secret);
    expect(port).toBe("gateway.port: the value is not a whole number");
    expect(refusal({ gateway: { auth, port: "18789" } })[0]).toContain('"18789" is not');
  });

  it("refuses a hook path that is the gateway's own", () => {
    for (const path of ["/api/v1", "health", "/ready", "/api/v1/x/"]) {
      expect(refusal({ gateway: { auth }, hooks: { path } })).toEqual([
        `hooks.path: ${JSON.stringify(path)} is a path of the gateway itself; write for example "/hooks"`,
      ]);
    }
    for (const path of ["/hooks", "/api/v10", "/healthy", 5, undefined]) {
      expect(() => read({ gateway: { auth }, hooks: { path } })).not.toThrow();
    }
  });

  it("says where JSON5 is broken, and that an object is wanted", () => {
    expect(refusal("{ gateway: ")[0]).toContain(
      `${file}: the configuration is not JSON5: invalid end of input at 1:12`,
    );
    expect(refusal("[]")[0]).toContain(`${file}: the configuration is not an object`);
    expect(refusal("null")[0]).toContain("is not an object");
  });

  it("says that a file cannot be read", () => {
    expect(() => readGatewayConfig({ file: join(folder, "none"), env: {} })).toThrow(
      "the configuration cannot be read (ENOENT)",
    );
  });

  it("warns of a key that is written twice, whose first value does not count", () => {
    const written = `{ gateway: { port: 1, auth: { token: "${token}" } }, models: {}, "models": {}, gateway: { auth: { token: '${token}', } } }`;
    const { config, warnings } = read(written);
    expect(config.gateway.port).toBe(18_789);
    const message = "is written twice, and only the last one counts; make one of both";
    expect(warnings).toEqual(["models", "gateway"].map((path) => ({ path, message })));
  });

  it("warns of a file that others may use", () => {
    read({ gateway: { auth } });
    chmodSync(file, 0o640);
    const { warnings } = readGatewayConfig({ file, env: {} });
    expect(warnings).toEqual([
      { path: file, message: "others than its owner may use this file, which may hold secrets; chmod it to 600" },
    ]);
  });

  it("gives the file as it is written along, for the audit", () => {
    const { written, config } = read({ gateway: { auth }, hooks: { token: "${T}" } }, { env: { T: "x" } });
    expect(written).toMatchObject({ hooks: { token: "${T}" } });
    expect(config.hooks).toEqual({ token: "x" });
  });
});
