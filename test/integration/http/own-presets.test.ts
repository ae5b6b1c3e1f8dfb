import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import type { AgentSpec } from "../../../src/core/run.ts";
import { RunningGateway } from "./running-gateway.ts";
import { call, hmac } from "./sender-calls.ts";

const SECRET = "secret-of-the-own-preset-tests";
const ACME = `
import { definePreset, labeled, messageOf, textAt } from "reveille";
import { greeting } from "./greeting.ts";

export default definePreset({
  name: "acme",
  title: "Acme",
  documentation: "https://acme.example.com/webhooks",
  auth: { from: "header:x-acme-signature" },
  secret: { label: "Signing key", madeBy: "sender" },
  event: "body:type",
  deliveryId: { from: "body:id", signed: true },
  message: ({ event, payload }) => messageOf(\`\${greeting}: \${event}\`, labeled("Who", textAt(payload, "who"))),
  mapping: { deliver: false, wakeMode: "next-heartbeat" },
  samples: { created: { payload: { id: "1", type: "created", who: "Ada" } } },
  setup: ["Paste {url} and copy the {secret}."],
});
`;

/** A gateway that runs, and the folder of its own presets. */
async function started(files: Readonly<Record<string, string>>): Promise<RunningGateway> {
  const gateway = await RunningGateway.start({});
  for (const [name, text] of Object.entries(files)) {
    const file = join(gateway.folder, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  return gateway;
}

/** Why the latest configuration was refused. */
function refusal({ logger }: RunningGateway): string {
  const line = logger.lines.findLast(({ level }) => level === "error");
  return inspect(line?.fields, { depth: 5, breakLength: Infinity });
}

function warnings({ logger }: RunningGateway): string {
  return logger.lines.map(({ fields }) => String(fields["warning"])).join("\n");
}

async function sendCreated(gateway: RunningGateway, id: string): Promise<string> {
  const body = JSON.stringify({ id, type: "created", who: "Ada" });
  const answer = await call(gateway, "/hooks/acme", { headers: { "x-acme-signature": hmac(SECRET, body) }, body });
  expect(answer.status).toBe(200);
  return ((await gateway.delivery(answer.body["deliveryId"])).runs[0]!.spec as AgentSpec).message;
}

describe("a preset of the configuration's folder", () => {
  it("is loaded with what it imports from the folder, and used like a built-in one", async () => {
    await using gateway = await started({
      "hooks/presets/acme.ts": ACME,
      "hooks/presets/greeting.ts": 'export const greeting: string = "Acme says";',
    });
    gateway.writeHooks({ presets: ["./acme.ts"], acme: { secret: SECRET } });
    expect((await gateway.reload()).applied).toBe(true);
    expect(await sendCreated(gateway, "1")).toBe("Acme says: created\nWho: Ada");
  });

  it("is read again by a reload; a broken edit is logged with its place, and the previous one stays", async () => {
    await using gateway = await started({
      "hooks/presets/acme.ts": ACME,
      "hooks/presets/greeting.ts": 'export const greeting = "one";',
    });
    gateway.writeHooks({ presets: ["./acme.ts"], acme: { secret: SECRET } });
    await gateway.reload();
    const greeting = join(gateway.folder, "hooks/presets/greeting.ts");
    writeFileSync(greeting, 'export const greeting = "two";');
    await gateway.reload();
    expect(await sendCreated(gateway, "1")).toMatch(/^two: /u);
    writeFileSync(greeting, 'export const greeting = "three;');
    expect((await gateway.reload()).applied).toBe(true);
    expect(warnings(gateway)).toMatch(
      /hooks\.presets\[0\]: hooks\/presets\/greeting\.ts:1:\d+:.*; the version before stays active for this part/u,
    );
    expect(await sendCreated(gateway, "2")).toMatch(/^two: /u);
  });

  it.each<[string, Readonly<Record<string, string>>, string, RegExp]>([
    ["is not there", {}, "./none.ts", /hooks\.presets\[0\]: .*there is no such file/u],
    ["lies outside of the folder", { "outside.ts": ACME }, "./../../outside.ts", /hooks\.presets\[0\]: /u],
    [
      "exports no preset",
      { "hooks/presets/a.ts": "export const preset = 1;" },
      "./a.ts",
      /export default definePreset\(/u,
    ],
    [
      "is none that could be used",
      {
        "hooks/presets/a.ts":
          'export default { name: "A B", title: "", documentation: "x", auth: {}, samples: {}, setup: [] };',
      },
      "./a.ts",
      /hooks\.presets\[0\]: The preset "A B" cannot be used: name must be .*; title is empty/u,
    ],
    [
      "fails while it is loaded",
      { "hooks/presets/a.ts": 'import { textAt } from "reveille";\n\nexport default textAt.missing.name;' },
      "./a.ts",
      /hooks\.presets\[0\]: hooks\/presets\/a\.ts:3:\d+: throws while it is loaded: TypeError: Cannot read/u,
    ],
    [
      "imports from elsewhere",
      { "hooks/presets/a.ts": 'import "../../outside.ts";', "outside.ts": "" },
      "./a.ts",
      /lies outside of hooks\/presets/u,
    ],
  ])("is set aside, with what to do, when it %s", async (_case, files, entry, message) => {
    await using gateway = await started(files);
    gateway.writeHooks({ presets: [entry] });
    expect((await gateway.reload()).applied).toBe(true);
    expect(warnings(gateway)).toMatch(message);
    const path = entry.slice(2, -3);
    if (/^[a-z]+$/u.test(path)) expect((await call(gateway, `/hooks/${path}`, { body: "{}" })).status).toBe(503);
  });

  it("is set aside at each path that names it, however many segments the path has", async () => {
    await using gateway = await started({});
    const senders = { one: { preset: "acme", path: "team/acme", secret: SECRET } };
    gateway.writeHooks({ presets: ["./acme.ts"], senders });
    expect((await gateway.reload()).applied).toBe(true);
    for (const path of ["team/acme", "team/acme/more"]) {
      expect((await call(gateway, `/hooks/${path}`, { body: "{}" })).status).toBe(503);
      expect((await gateway.post(`/hooks/${path}`, "{}")).status).toBe(503);
    }
  });

  it("refuses the configuration when it has the name of a built-in one", async () => {
    const text = ACME.replace('"acme"', '"github"').replace(/import \{ greeting.*\n/u, "const greeting = 1;");
    await using gateway = await started({ "hooks/presets/a.ts": text });
    gateway.writeHooks({ presets: ["./a.ts"] });
    expect((await gateway.reload()).applied).toBe(false);
    expect(refusal(gateway)).toMatch(/hooks\.presets\[0\]: "github" is the name of a preset already/u);
  });

  it("is not loaded when a link leads out of the folder", async () => {
    await using gateway = await started({ "outside.ts": ACME, "hooks/presets/greeting.ts": "" });
    symlinkSync(join(gateway.folder, "outside.ts"), join(gateway.folder, "hooks/presets/acme.ts"));
    gateway.writeHooks({ presets: ["./acme.ts"], acme: { secret: SECRET } });
    expect((await gateway.reload()).applied).toBe(true);
    expect((await call(gateway, "/hooks/acme", { body: "{}" })).status).toBe(503);
    expect(warnings(gateway)).toContain("leads outside by a link");
  });
});

describe("a preset of a package", () => {
  it("comes with a plugin.json and a class that adds it, from node_modules", async () => {
    await using gateway = await started({
      "node_modules/reveille-acme/package.json": JSON.stringify({ name: "reveille-acme", type: "module" }),
      "node_modules/reveille-acme/plugin.json": JSON.stringify({
        id: "reveille-acme",
        entry: "index.ts",
        pluginApi: "1",
      }),
      "node_modules/reveille-acme/greeting.ts": 'export const greeting = "Packaged";',
      "node_modules/reveille-acme/acme.ts": ACME,
      "node_modules/reveille-acme/index.ts": `
        import { WebhookIngress } from "reveille";
        import acme from "./acme.ts";
        export default class AcmePlugin {
          apply(host) {
            WebhookIngress.hooks(host).presets.tap("reveille-acme", (registry) => registry.add(acme));
          }
        }`,
    });
    const hooks = { presets: ["acme"], acme: { secret: SECRET } };
    const file = { ...gateway.configWith(hooks), plugins: { load: { paths: ["./node_modules/reveille-acme"] } } };
    gateway.writeFile(JSON.stringify(file));
    await gateway.restart();
    expect(await sendCreated(gateway, "1")).toBe("Packaged: created\nWho: Ada");
  });
});
