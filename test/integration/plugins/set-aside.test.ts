/** A plugin or a preset module that fails to load is set aside, or keeps the version that works; the rest serves. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { EmbeddedGateway } from "../../../src/hosts/embedded/gateway.ts";
import { baseConfig, callHook, GatewayFixture, hookToken, readApi } from "../../unit/hosts/embedded/gateway/fixture.ts";
import { TransformProcess } from "../cli/transform-process.ts";

const QUIET = { deliver: false, wakeMode: "next-heartbeat" };
const good = { id: "good", match: { path: "good" }, messageTemplate: "m", ...QUIET };
const presetOf = (name: string, text: string): string => `export default {
  name: "${name}", title: "${name}", documentation: "https://example.com/webhooks", auth: { scheme: "token" },
  message: () => "${text}", mapping: { deliver: false, wakeMode: "next-heartbeat" },
  samples: { one: { payload: {} } }, setup: ["Paste {url}."] };`;
const BROKEN = "export default {";
const manifestOf = (id: string, further: object): string => JSON.stringify({ id, pluginApi: "^1.1", ...further });
const denying = (word: string): string => `import { WebhookIngress } from "reveille";
export default class {
  apply(host) {
    WebhookIngress.hooks(host).policy.tap("p", (run) => (run.message.includes("${word}") ? { deny: "No." } : undefined));
  }
}`;

let fixture: GatewayFixture;
let gateway: EmbeddedGateway | undefined;
beforeEach(() => {
  fixture = new GatewayFixture();
});
afterEach(async () => {
  await gateway?.stop();
  gateway = undefined;
  await fixture.remove();
});

function write(name: string, text: string): void {
  const file = join(fixture.folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function configure(hooks: object, plugins?: object): void {
  fixture.write({
    ...baseConfig,
    hooks: { enabled: true, token: hookToken, ...hooks },
    ...(plugins && { plugins: { load: { paths: ["./p"] }, ...plugins } }),
  });
}

async function startGateway(): Promise<EmbeddedGateway> {
  gateway = await fixture.start();
  return gateway;
}

async function post(path: string, body: object = {}): Promise<readonly [number, string | null]> {
  const response = await callHook(gateway!, path, body);
  return [response.status, response.headers.get("retry-after")];
}

const SET_ASIDE = [503, expect.stringMatching(/^\d+$/u)];
const warned = (): string => fixture.logger.lines.map(({ fields }) => String(fields["warning"])).join("\n");

describe("a preset module that fails to load", () => {
  const hooks = {
    presets: ["./acme.mjs", "github"],
    acme: { secret: "a-secret-of-acme", whatever: true },
    github: { secret: "a-secret-of-github", ...QUIET },
    senders: { second: { preset: "acme", path: "acme/second", own: 1 } },
    mappings: [{ id: "own", preset: "acme", match: { path: "own" }, settings: { key: 1 } }, good],
  };

  it("sets aside what names its preset at a start: 503 without a token too; the rest serves, and lists say why", async () => {
    write("hooks/presets/acme.mjs", BROKEN);
    configure(hooks);
    const running = await startGateway();
    for (const path of ["acme", "acme/second", "own"]) expect(await post(`/hooks/${path}`)).toEqual(SET_ASIDE);
    const stranger = await fetch(`${running.url}/hooks/acme`, { method: "POST", body: "{}" });
    expect(stranger.status).toBe(503);
    expect((await post("/hooks/good"))[0]).toBe(202);
    expect((await post("/hooks/github"))[0]).toBe(401);
    expect(warned()).toMatch(
      /hooks\.presets\[0\]: hooks\/presets\/acme\.mjs:1:\d+: .*what names its presets is set aside/u,
    );
    const { mappings } = (await (await readApi(running, "hooks")).json()) as {
      mappings: { scope: string; broken: string | null }[];
    };
    const broken = mappings.filter((each) => each.broken !== null).map(({ scope }) => scope);
    expect(broken.toSorted()).toEqual(["acme", "own", "second"]);
  });

  it("serves when it was mended and the file is saved again; a broken edit then keeps it, and the rest is taken", async () => {
    write("hooks/presets/acme.mjs", BROKEN);
    configure({ presets: ["./acme.mjs"], mappings: [good] });
    const running = await startGateway();
    write("hooks/presets/acme.mjs", presetOf("acme", "one"));
    configure({ presets: ["./acme.mjs"], mappings: [good] });
    await vi.waitFor(async () => expect((await post("/hooks/acme"))[0]).toBe(200), { timeout: 15_000, interval: 20 });
    write("hooks/presets/acme.mjs", BROKEN);
    for (const path of ["added", "further"]) {
      configure({ presets: ["./acme.mjs"], mappings: [{ ...good, match: { path } }] });
      expect((await running.reload()).applied).toBe(true);
      expect([(await post("/hooks/acme"))[0], (await post(`/hooks/${path}`))[0]]).toEqual([200, 202]);
    }
    expect(warned()).toContain("the version before stays active for this part");
  });

  it("does not hide a mistyped key of the block", async () => {
    write("hooks/presets/acme.mjs", BROKEN);
    configure({ presets: ["./acme.mjs"], lockuot: { maxFailures: 3 } });
    await expect(fixture.start()).rejects.toThrow('hooks.lockuot: unknown key; did you mean "lockout"?');
  });
});

describe("a plugin that fails to load", () => {
  it("sets aside what names its preset when it has presets alone", async () => {
    write("p/plugin.json", manifestOf("p", { presets: ["a.mjs"] }));
    write("p/a.mjs", BROKEN);
    configure({ presets: ["acme"], acme: { own: 1 }, mappings: [good] }, {});
    const running = await startGateway();
    expect(await post("/hooks/acme")).toEqual(SET_ASIDE);
    expect((await post("/hooks/good"))[0]).toBe(202);
    write("p/a.mjs", presetOf("acme", "mended"));
    configure({ presets: ["acme"], mappings: [good] }, {});
    expect((await running.reload()).applied).toBe(true);
    expect((await post("/hooks/acme"))[0]).toBe(200);
  });

  it.each<[string, () => void]>([
    ["its class does not load", () => write("p/index.js", BROKEN)],
    ["its folder is gone", () => rmSync(join(fixture.folder, "p"), { recursive: true })],
  ])(
    "closes the hooks of a start when %s, since it may deny calls; the API serves, and a reload opens them",
    async (_, harm) => {
      write("p/plugin.json", manifestOf("p", { entry: "index.js" }));
      write("p/index.js", denying("payroll"));
      harm();
      configure({ mappings: [good] }, {});
      const running = await startGateway();
      for (const path of ["good", "agent"]) expect(await post(`/hooks/${path}`, { message: "x" })).toEqual(SET_ASIDE);
      const { all } = (await (await readApi(running, "hooks")).json()) as { all: { broken: string } };
      expect(all.broken).toContain("plugins.load.paths[0]");
      expect(warned()).toContain("all hooks answer 503 until it loads");
      expect((await running.reload()).applied).toBe(true);
      expect(await post("/hooks/good")).toEqual(SET_ASIDE);
      write("p/plugin.json", manifestOf("p", { entry: "index.js" }));
      write("p/index.js", denying("payroll"));
      expect((await running.reload()).applied).toBe(true);
      expect((await post("/hooks/agent", { message: "payroll" }))[0]).toBe(403);
      expect((await post("/hooks/agent", { message: "lunch" }))[0]).toBe(202);
    },
  );

  it("keeps its version at a reload that changes its options, and the rest is taken", async () => {
    write("p/plugin.json", manifestOf("p", { entry: "index.js" }));
    write("p/index.js", denying("payroll"));
    configure({ mappings: [good] }, {});
    const running = await startGateway();
    write("p/index.js", BROKEN);
    for (const path of ["added", "further"]) {
      configure({ mappings: [{ ...good, match: { path } }] }, { entries: { p: { config: { path } } } });
      expect((await running.reload()).applied).toBe(true);
      expect((await post(`/hooks/${path}`))[0]).toBe(202);
      expect((await post("/hooks/agent", { message: "payroll" }))[0]).toBe(403);
    }
    expect(warned()).toContain("the version before stays active for this part");
  });
});

describe("on the command line, a preset module that fails to load", () => {
  it("is a warning of check, a problem of doctor, and refuses the file with --strict", async () => {
    using program = new TransformProcess({ presets: ["./acme.mjs"] });
    program.start("check");
    expect(await program.ended()).toBe(0);
    expect(program.out).toContain("what names its presets is set aside, and those calls are answered 503");
    program.start("doctor");
    expect(await program.ended()).toBe(1);
    expect(program.out).toContain("acme is set aside, and its calls are answered 503");
    for (const command of [["check"], ["serve", "--port", "0"]]) {
      program.start(...command, "--strict");
      expect(await program.ended()).not.toBe(0);
      expect(program.err).toContain("hooks.presets[0]: hooks/presets/acme.mjs: there is no such file");
    }
  });
});
