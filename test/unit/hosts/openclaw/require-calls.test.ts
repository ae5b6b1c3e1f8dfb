import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { OpenClawSdk, PluginHttpRoute } from "../../../../src/hosts/openclaw/sdk.ts";
import { OLDEST_HOST, requireCalls, untestedHost } from "../../../../src/hosts/openclaw/require-calls.ts";
import { FakeOpenClaw } from "./fake-openclaw.ts";

/** Modules of the SDK, of which the routes' one registers like this. */
function modules(registerPluginHttpRoute: OpenClawSdk["registerPluginHttpRoute"]) {
  return async (specifier: string): Promise<unknown> =>
    specifier.endsWith("webhook-ingress") ? { registerPluginHttpRoute } : { peekSystemEventEntries: () => [] };
}

const route = { path: "/reveille" } as PluginHttpRoute;

it("names what a host lacks, its version, and the oldest one that has it", async () => {
  using openClaw = new FakeOpenClaw();
  const { runtime } = openClaw.api;
  const lacking = { runtime: { ...runtime, version: "2026.4.22", config: {}, system: {} } } as never;
  const load = async (): Promise<unknown> => {
    throw new Error("no such module");
  };
  await expect(requireCalls(lacking, load)).rejects.toThrow(
    "This OpenClaw (2026.4.22) lacks calls that Reveille needs: runtime.config.current, " +
      "runtime.system.enqueueSystemEvent, runtime.system.requestHeartbeat, " +
      "openclaw/plugin-sdk/webhook-ingress registerPluginHttpRoute. " +
      `OpenClaw ${OLDEST_HOST} has them: update the host.`,
  );
});

it("refuses an older host that has the calls, and takes one whose version it cannot read", async () => {
  using openClaw = new FakeOpenClaw();
  const { runtime } = openClaw.api;
  const load = modules(() => () => {});
  const old = requireCalls({ runtime: { ...runtime, version: "2026.7.35" } }, load);
  await expect(old).rejects.toThrow(`(2026.7.35) is too old for Reveille: update the host to ${OLDEST_HOST} or later.`);
  await requireCalls({ runtime: { ...runtime, version: OLDEST_HOST } }, load);
  await requireCalls({ runtime: { ...runtime, version: "a build of somebody" } }, load);
});

it("finds the view of the queues in either module of the SDK, and does without it", async () => {
  using openClaw = new FakeOpenClaw();
  const peek = (): never[] => [];
  const without = (missing: RegExp) => async (specifier: string) => {
    if (missing.test(specifier)) throw new Error("no such module");
    return { registerPluginHttpRoute: () => {}, peekSystemEventEntries: peek };
  };
  const moved = await requireCalls(openClaw.api, without(/system-event-runtime/));
  expect(moved.peekSystemEventEntries).toBe(peek);
  const gone = await requireCalls(openClaw.api, without(/system-event-runtime|infra-runtime/));
  expect(gone.peekSystemEventEntries).toBeUndefined();
});

it("says so of a host that is newer than those it was tested with", () => {
  expect(untestedHost("2026.9.6")).toBeUndefined();
  expect(untestedHost("a build of somebody")).toBeUndefined();
  expect(untestedHost("2099.1.1")).toContain("tested up to OpenClaw");
});

it("registers a route outside of the moment's context when the host takes that for one of a stopped service", async () => {
  using openClaw = new FakeOpenClaw();
  let calls = 0;
  const register = (): (() => void) => {
    calls++;
    if (calls === 1) throw new Error("plugin service HTTP route lease is no longer active");
    return () => {};
  };
  const sdk = await requireCalls(openClaw.api, modules(register));
  expect(sdk.registerPluginHttpRoute(route)).toBeTypeOf("function");
  expect(calls).toBe(2);
});

it("reports every other refusal of a route at once", async () => {
  using openClaw = new FakeOpenClaw();
  let calls = 0;
  const refuse = (): never => {
    calls++;
    throw new Error("route conflict at /reveille");
  };
  const sdk = await requireCalls(openClaw.api, modules(refuse));
  expect(() => sdk.registerPluginHttpRoute(route)).toThrow("route conflict");
  expect(calls).toBe(1);
});

it("is installed by no host that is older than the oldest one it works in", () => {
  const root = join(import.meta.dirname, "../../../..");
  const { openclaw } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { openclaw: object };
  expect(openclaw).toMatchObject({
    compat: { pluginApi: `>=${OLDEST_HOST}` },
    install: { minHostVersion: `>=${OLDEST_HOST}` },
  });
});
