/** A mapping that refers to something missing is set aside, and the rest serves. */
import { describe, expect, it } from "vitest";
import { RunningGateway } from "./running-gateway.ts";
import { call, github, GITHUB_SECRET, pushOf } from "./sender-calls.ts";

const QUIET = { messageTemplate: "m", wakeMode: "next-heartbeat" };
const good = { id: "good", match: { path: "good" }, deliver: false, ...QUIET };
const org = { preset: "github", deliver: false, wakeMode: "next-heartbeat" };

describe("a part whose reference is missing", () => {
  it.each<[string, object]>([
    ["channel", { channel: "nowhere" }],
    ["model", { model: "x/y" }],
    ["agent", { agentId: "nobody" }],
  ])(
    "is set aside at a start for its %s: its path answers 503 with Retry-After, and the rest serves",
    async (_, key) => {
      const broken = { id: "broken", match: { path: "broken" }, ...QUIET, ...key };
      await using gateway = await RunningGateway.start({ hooks: { mappings: [broken, good] } });
      const refused = await gateway.post("/hooks/broken", "{}");
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, expect.stringMatching(/^\d+$/u)]);
      expect((await call(gateway, "/hooks/broken", { body: "{}" })).status).toBe(401);
      expect((await gateway.post("/hooks/good", "{}")).status).toBe(202);
      expect(JSON.stringify(gateway.logger.lines)).toContain("this part is set aside, and its calls are answered 503");
    },
  );

  it("is a sender whose secret is missing: 503 before anything is verified", async () => {
    const senders = {
      one: { ...org, secret: { env: "SECRET_THAT_IS_NOT_SET" } },
      two: { ...org, secret: GITHUB_SECRET },
    };
    await using gateway = await RunningGateway.start({ hooks: { senders } });
    const body = pushOf("site");
    expect((await github(gateway, body, { path: "/hooks/one" })).status).toBe(503);
    expect((await github(gateway, body, { path: "/hooks/two" })).body["ok"]).toBe(true);
  });

  it("keeps the version that works when a reload breaks it, and takes the rest", async () => {
    await using gateway = await RunningGateway.start({ hooks: { mappings: [good] } });
    const added = { id: "added", match: { path: "added" }, ...QUIET, channel: "nowhere" };
    gateway.writeHooks({ mappings: [{ ...good, messageTemplate: "new", deliver: true, channel: "nowhere" }, added] });
    expect((await gateway.reload()).applied).toBe(true);
    const { status, body } = await gateway.post("/hooks/good", "{}");
    expect([status, (await gateway.delivery(body["deliveryId"])).runs[0]?.spec]).toEqual([
      202,
      expect.objectContaining({ message: "m" }),
    ]);
    expect(JSON.stringify(gateway.logger.lines)).toContain("the version before stays active for this part");
    expect((await gateway.post("/hooks/added", "{}")).status).toBe(503);
    gateway.writeHooks({ mappings: [good, { ...added, channel: "console" }] });
    expect((await gateway.reload()).applied).toBe(true);
    expect((await gateway.post("/hooks/added", "{}")).status).toBe(202);
  });

  it("keeps its secret when a reload cannot read the new one; a second reload does not lose it", async () => {
    const senders = { one: { ...org, secret: GITHUB_SECRET } };
    await using gateway = await RunningGateway.start({ hooks: { senders } });
    const body = pushOf("site");
    for (const maxDepth of [20, 21]) {
      gateway.writeHooks({ senders: { one: { ...org, secret: { env: "SECRET_THAT_IS_NOT_SET" } } }, maxDepth });
      expect((await gateway.reload()).applied).toBe(true);
      expect((await github(gateway, body, { path: "/hooks/one" })).body["ok"]).toBe(true);
      expect((await github(gateway, body, { path: "/hooks/one", secret: "another-secret-of-a-stranger" })).status).toBe(
        401,
      );
    }
  });

  it("is the mapping that uses the missing secret of hooks.<preset>, and not one with a secret of its own", async () => {
    const mapping = { preset: "github", deliver: false, wakeMode: "next-heartbeat" };
    const mappings = [
      { id: "common", match: { path: "common" }, ...mapping },
      { id: "own", match: { path: "own" }, ...mapping, secret: GITHUB_SECRET },
    ];
    const hooks = { mappings, github: { secret: { env: "SECRET_THAT_IS_NOT_SET" } } };
    await using gateway = await RunningGateway.start({ hooks });
    const body = pushOf("site");
    expect((await github(gateway, body, { path: "/hooks/common" })).status).toBe(503);
    expect((await call(gateway, "/hooks/common", { method: "GET" })).status).toBe(503);
    expect((await gateway.post("/hooks/common", body)).status).toBe(503);
    expect((await github(gateway, body, { path: "/hooks/own" })).body["ok"]).toBe(true);
  });

  it("is a sender whose setting is a missing secret, wherever it calls; a mapping beside it is not", async () => {
    const meta = { preset: "meta", secret: "0123456789abcdef0123456789abcdeX" };
    const mappings = [{ id: "meta", ...meta, settings: { verifyToken: { env: "SECRET_THAT_IS_NOT_SET" } } }, good];
    await using gateway = await RunningGateway.start({ hooks: { mappings } });
    expect((await call(gateway, "/hooks/meta", { body: "{}" })).status).toBe(503);
    expect((await call(gateway, "/hooks/meta?hub.mode=subscribe", { method: "GET" })).status).toBe(503);
    expect((await gateway.post("/hooks/good", "{}")).status).toBe(202);
  });
});
