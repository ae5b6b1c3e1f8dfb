import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import type { EmbeddedGateway } from "../../../src/hosts/embedded/gateway.ts";
import type { BacktestPage, Preview } from "../../../src/index.ts";
import {
  baseConfig,
  callHook,
  GatewayFixture,
  gatewayToken,
  readApi,
} from "../../unit/hosts/embedded/gateway/fixture.ts";

const SECRET = "secret-of-the-github-hook-here";
const WRITTEN = {
  ...baseConfig,
  hooks: {
    ...baseConfig.hooks,
    presets: ["github"],
    github: { secret: SECRET },
    senders: { fork: { preset: "github", secret: `${SECRET}-2` } },
    mappings: [
      { id: "build", match: { path: "build" }, messageTemplate: "Build {{id}}", deliver: false },
      { match: { path: "second" }, messageTemplate: "Second {{id}}", instructions: "Look at it.", deliver: false },
      { id: "made", match: { path: "made" }, transform: { module: "made.js" }, deliver: false },
    ],
  },
};

const fixture = new GatewayFixture(WRITTEN);
let gateway: EmbeddedGateway;

beforeAll(async () => {
  const folder = join(fixture.folder, "hooks", "transforms");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "made.js"), "export default ({ payload }) => ({ message: `Made ${payload.id}` });\n");
  writeFileSync(join(folder, "other.js"), "export default ({ payload }) => ({ message: `Other ${payload.id}` });\n");
  gateway = await fixture.start();
});
afterAll(() => fixture.remove());

async function ask(path: string, body: object): Promise<Response> {
  return await fetch(`${gateway.url}/api/v1/deliveries/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${gatewayToken}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

async function preview(path: string, edit?: unknown, payload = '{"id":7}'): Promise<Preview> {
  const response = await ask("preview", { path, payload, edit: edit && JSON.stringify(edit) });
  expect(response.status).toBe(200);
  return (await response.json()) as Preview;
}

it("shows what a changed template makes of a payload, and leaves the active one as it is", async () => {
  const edited = await preview("build", [{ id: "build", messageTemplate: "The build {{id}}" }]);
  expect(edited.runs[0]?.prompt).toContain("The build 7");
  expect(edited.mapping).toMatchObject({ id: "build", isOfPreset: false, template: "The build {{id}}" });
  expect((await preview("build")).runs[0]?.prompt).toContain("Build 7");
});

it("changes a mapping without an id by its number, and takes a key away by null", async () => {
  const edited = await preview("second", [{ id: "mapping-2", instructions: null, agentId: "main" }]);
  expect(edited.runs[0]?.prompt).not.toContain("Look at it.");
  expect((await preview("second")).runs[0]?.prompt).toContain("Look at it.");
});

it.each(["github", "fork"])("makes of an edit of the preset mapping %s a mapping of one's own", async (path) => {
  const payload = JSON.stringify({ zen: "Speak like a human.", repository: { full_name: "a/b" } });
  const before = await preview(path, undefined, payload);
  expect(before.mapping).toMatchObject({ isOfPreset: true, preset: "github", path });
  const edit = [{ id: before.mappingId, messageTemplate: "Seen: {{repository.full_name}}" }];
  const edited = await preview(path, edit, payload);
  expect(edited).toMatchObject({ outcome: "runs", mapping: { preset: "github", path } });
  expect(edited.runs[0]?.prompt).toContain("Seen: a/b");
});

it("takes a new mapping and a whole hooks block", async () => {
  const mapping = { id: "new", match: { path: "new" }, messageTemplate: "New {{id}}" };
  expect((await preview("new", [mapping])).runs[0]?.prompt).toContain("New 7");
  const hooks = { enabled: true, token: WRITTEN.hooks.token, mappings: [mapping] };
  expect((await preview("new", { hooks })).runs[0]?.prompt).toContain("New 7");
  expect((await preview("build", { hooks })).outcome).toBe("refused");
});

it("calls the transform of an edit in a process that ends with it, and keeps the active one", async () => {
  const work = join(fixture.stateDir, "transforms");
  const copies = readdirSync(work).length;
  const edited = await preview("made", [{ id: "made", transform: { module: "other.js" } }]);
  expect(edited.runs[0]?.prompt).toContain("Other 7");
  expect(readdirSync(work)).toHaveLength(copies);
  expect((await preview("made")).runs[0]?.prompt).toContain("Made 7");
});

it.each([
  ["a key that is unknown", [{ id: "build", messageTemplat: "x" }], "messageTemplat"],
  ["a condition that does not parse", [{ id: "build", when: "payload.id >" }], "when"],
  ["an agent that is missing", [{ id: "build", agentId: "other" }], "other"],
  ["a mapping without an id", [{ messageTemplate: "x" }], "edit[0].id"],
  ["a transform that is missing", [{ id: "made", transform: { module: "none.js" } }], "none.js"],
])("refuses %s and says where it is", async (_, mappings, named) => {
  const response = await ask("preview", { path: "build", payload: "{}", edit: JSON.stringify(mappings) });
  expect(response.status).toBe(400);
  const { error } = (await response.json()) as { error: string };
  expect(error).toContain("The edited configuration is refused.");
  expect(error).toContain(named);
});

it("judges stored deliveries by an edit, with the runs that each would have", async () => {
  const called = await callHook(gateway, "/hooks/build", { id: 1 });
  const { deliveryId } = (await called.json()) as { deliveryId: string };
  await vi.waitFor(async () => {
    expect(await (await readApi(gateway, `deliveries/${deliveryId}`)).json()).toMatchObject({ state: "done" });
  }, 15_000);
  const backtest = async (edit?: unknown): Promise<BacktestPage["deliveries"]> => {
    const response = await ask("backtest", { filter: { since: "1h" }, edit: edit && JSON.stringify(edit) });
    return ((await response.json()) as BacktestPage).deliveries;
  };
  expect(await backtest()).toMatchObject([{ deliveryId, change: "same", before: { mappingId: "build", runs: 1 } }]);
  expect(await backtest([{ id: "build", when: "payload.id > 5.0" }])).toMatchObject([
    { deliveryId, change: "ended", before: { runs: 1 }, now: { mappingId: "build", runs: 0 } },
  ]);
  expect(await backtest([{ id: "build", match: { path: "moved" } }])).toMatchObject([
    { deliveryId, change: "refused", now: { mappingId: null, runs: 0 } },
  ]);
});
