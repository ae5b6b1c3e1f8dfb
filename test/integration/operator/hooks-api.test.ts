import { describe, expect, it } from "vitest";
import { OperatedGateway } from "./operated-gateway.ts";

const build = {
  id: "build",
  match: { path: "ci/build" },
  messageTemplate: "Build {{branch}}.",
  wakeMode: "next-heartbeat",
  deliver: false,
  budget: { perHour: 100, perDay: 2_000 },
};
const notes = {
  id: "notes",
  match: { source: "notes" },
  action: "wake",
  textTemplate: "Note.",
  wakeMode: "next-heartbeat",
};
const hooks = { mappings: [build, notes], budget: { perDay: 5_000 } };

describe("the hooks API", () => {
  it("lists the mappings, where each is reached, and what of the budgets is used", async () => {
    await using operated = await OperatedGateway.start(hooks);
    await operated.becomes(await operated.accept("ci/build", { branch: "main" }), "done");
    await operated.becomes(await operated.accept("agent", { message: "x", wakeMode: "next-heartbeat" }), "done");
    const { status, body } = await operated.api("GET", "hooks");
    expect([status, body]).toEqual([
      200,
      {
        all: {
          scope: "*",
          broken: null,
          paused: null,
          budget: { perHour: null, perDay: { used: 2, limit: 5_000 } },
          path: "/hooks",
          publicUrl: null,
        },
        exposures: ["hooks", "hooks", "hooks.mappings[0]", "hooks.mappings[1]"].map((where) =>
          expect.objectContaining({ where, agentId: "main", verdict: "two", outward: [] }),
        ),
        mappings: [
          {
            scope: "build",
            paused: null,
            budget: { perHour: { used: 1, limit: 100 }, perDay: { used: 1, limit: 2_000 } },
            where: "hooks.mappings[0]",
            route: "ci/build",
            source: null,
            action: "agent",
            preset: null,
            auth: "token",
            lastAcceptedAt: expect.stringMatching(/Z$/u),
            lastRefused: null,
            broken: null,
            kept: null,
          },
          {
            scope: "notes",
            paused: null,
            budget: null,
            where: "hooks.mappings[1]",
            route: null,
            source: "notes",
            action: "wake",
            preset: null,
            auth: "token",
            lastAcceptedAt: null,
            lastRefused: null,
            broken: null,
            kept: null,
          },
        ],
      },
    ]);
    expect((await operated.api("GET", "hooks?x=1")).status).toBe(400);
  });

  it("pauses a mapping, whose calls are accepted and wait, also over a restart, until it is resumed", async () => {
    await using operated = await OperatedGateway.start(hooks);
    const paused = await operated.api("POST", "hooks/build/pause");
    expect([paused.status, paused.body]).toEqual([200, { ok: true, scope: "build", paused: true, changed: true }]);
    expect((await operated.api("POST", "hooks/build/pause", {})).body).toMatchObject({ changed: false });
    const waiting = await operated.accept("ci/build", { branch: "main" });
    await operated.becomes(await operated.accept("agent", { message: "x", wakeMode: "next-heartbeat" }), "done");
    expect((await operated.delivery(waiting)).state).toBe("queued");
    await operated.restart();
    const { body } = await operated.api("GET", "hooks");
    expect(body["mappings"]).toMatchObject([
      { scope: "build", paused: { reason: "paused by the operator", since: expect.stringMatching(/Z$/u) } },
      { scope: "notes", paused: null },
    ]);
    expect((await operated.delivery(waiting)).state).toBe("queued");
    expect((await operated.api("POST", "hooks/build/resume")).body).toEqual({
      ok: true,
      scope: "build",
      paused: false,
      changed: true,
    });
    await operated.becomes(waiting, "done");
    expect((await operated.api("POST", "hooks/build/resume")).body).toMatchObject({ changed: false });
  });

  it("pauses everything, direct calls included", async () => {
    await using operated = await OperatedGateway.start(hooks);
    await operated.api("POST", "hooks/*/pause");
    const waiting = await operated.accept("agent", { message: "x", wakeMode: "next-heartbeat" });
    expect((await operated.api("GET", "hooks")).body["all"]).toMatchObject({ paused: { reason: expect.any(String) } });
    expect((await operated.delivery(waiting)).state).toBe("queued");
    await operated.api("POST", "hooks/%2A/resume");
    await operated.becomes(waiting, "done");
  });

  it("knows a paused mapping that is gone from the configuration, and lets it be resumed", async () => {
    await using operated = await OperatedGateway.start(hooks);
    await operated.api("POST", "hooks/build/pause");
    await operated.reload({ mappings: [notes] });
    expect((await operated.api("GET", "hooks")).body["mappings"]).toMatchObject([
      { scope: "notes" },
      { scope: "build", where: null, route: null, paused: { reason: "paused by the operator" } },
    ]);
    expect((await operated.api("POST", "hooks/build/resume")).body).toMatchObject({ changed: true });
    expect((await operated.api("POST", "hooks/build/pause")).status).toBe(404);
  });

  it("names the likely mapping", async () => {
    await using operated = await OperatedGateway.start(hooks);
    for (const [scope, error] of [
      ["biuld", 'There is no mapping "biuld"; did you mean "build"?'],
      ["ci%2Fbuild", 'There is no mapping "ci/build"; did you mean "build"?'],
      ["everything", 'There is no mapping "everything"; "*" means all of them'],
    ]) {
      const answer = await operated.api("POST", `hooks/${scope}/pause`);
      expect([answer.status, answer.body["code"], answer.body["error"]]).toEqual([404, "NOT_FOUND", error]);
    }
    expect((await operated.api("POST", "hooks/build/pause", { for: "1h" })).status).toBe(400);
    expect((await operated.api("GET", "hooks/build/pause")).status).toBe(405);
    expect((await operated.api("GET", "hooks/build")).status).toBe(404);
  });
});
