import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { GATEWAY_TOKEN } from "./host-config.ts";
import { installationOfSuite } from "./installation-of-suite.ts";
import { HOOK_TOKEN } from "./running-installation.ts";

const GITHUB_SECRET = "the-secret-of-github-in-this-suite";

const block = {
  enabled: true,
  token: HOOK_TOKEN,
  mappings: [
    { id: "deploys", match: { path: "deploys" }, action: "agent", messageTemplate: "Deployed {{version}} [say seen]" },
    {
      id: "diary",
      match: { path: "diary" },
      sessionKey: "hook:diary",
      sessionMode: "persistent",
      messageTemplate: "Noted {{note}} [say noted]",
      deliver: false,
    },
  ],
  presets: ["github"],
  github: { secret: GITHUB_SECRET },
};

/** The block with a transform, whose module is written when it is needed. */
const shaped = { id: "shaped", match: { path: "shaped" }, action: "wake", transform: { module: "shape.mjs" } };
const shapedBlock = { ...block, path: "/elsewhere", mappings: [...block.mappings, shaped] };

/** What GitHub posts when one commit was pushed. */
function push(message: string): object {
  const commit = { id: "4b2f3e1a9c0d8e7f6a5b4c3d2e1f0a9b8c7d6e5f", message, author: { name: "Ada" } };
  const sender = { login: "octo", id: 4711, type: "User" };
  return { ref: "refs/heads/main", repository: { full_name: "octo/app" }, commits: [commit], pusher: {}, sender };
}

describe("the installed package in the real OpenClaw", () => {
  const installation = installationOfSuite(block);

  /** What the main session was told. */
  function mainPrompts(): string {
    return installation()
      .model.calls.filter(({ session }) => session === "agent:main:main")
      .map(({ prompt }) => prompt)
      .join("\n");
  }

  it("logs the exact address under which it answers", () => {
    expect(installation().gateway.log).toContain(`Reveille answers at ${installation().gateway.url}/reveille/wake`);
  });

  it("refuses a caller without the token", async () => {
    expect(
      await installation().post("/reveille/wake", { text: "let me in" }, { authorization: "Bearer wrong" }),
    ).toMatchObject({
      status: 401,
    });
  });

  it("wakes the main session", async () => {
    expect(await installation().post("/reveille/wake", { text: "The build is red." })).toMatchObject({ status: 200 });
    await installation().eventually(() => expect(mainPrompts()).toContain("The build is red."));
  });

  it("brings every wake of a burst before the agent, although the host keeps twenty", async () => {
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, at) => installation().post("/reveille/wake", { text: `burst-${at}.` })),
    );
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    await installation().eventually(() => {
      const told = mainPrompts();
      const seen = Array.from({ length: 60 }, (_, at) => told.includes(`burst-${at}.`));
      expect(seen.filter((isSeen) => !isSeen)).toEqual([]);
    });
  });

  it("runs an agent turn with the boundary, posts its summary and delivers the reply to Telegram", async () => {
    const call = { message: "Look at it [say hello]", name: "Look", channel: "telegram", to: "777" };
    expect(await installation().post("/reveille/agent", call)).toMatchObject({ status: 202 });
    await installation().eventually(() =>
      expect(installation().botApi.sent).toContainEqual({ to: "777", text: "Done: hello" }),
    );
    const [run, ...others] = installation().model.callsWith("Look at it");
    expect(others.filter(({ session }) => session !== "agent:main:main")).toEqual([]);
    expect(run?.session).toMatch(/^agent:main:subagent:run-/);
    expect(run?.prompt).toContain("UNTRUSTED INPUT");
    await installation().eventually(() =>
      expect(mainPrompts()).toMatch(/Hook \\*"Look\\*": UNTRUSTED REPORT[^]*Done: hello/),
    );
  });

  it("runs a mapping", async () => {
    expect(await installation().post("/reveille/deploys", { version: "1.2.3" })).toMatchObject({ status: 202 });
    await installation().eventually(() => expect(installation().model.callsWith("Deployed 1.2.3")).not.toEqual([]));
  });

  it("continues the conversation of a session key where the mapping is persistent", async () => {
    for (const note of ["apples", "pears"]) {
      expect(await installation().post("/reveille/diary", { note })).toMatchObject({ status: 202 });
      await installation().eventually(() => expect(installation().model.callsWith(`Noted ${note}`)).not.toEqual([]));
    }
    const [latest] = installation().model.callsWith("Noted pears");
    expect(latest?.session).toMatch(/^agent:main:subagent:kept-agent-main-hook-diary-/);
    expect(latest?.conversation).toMatch(/Noted apples[^]*Done: noted[^]*Noted pears/);
    expect(installation().model.callsWith("Noted apples")[0]?.session).toBe(latest?.session);
  });

  it("runs a push that GitHub signed, without the hook token, and refuses one that it did not sign", async () => {
    const signed = JSON.stringify(push("Keep it logically awesome"));
    const signature = `sha256=${createHmac("sha256", GITHUB_SECRET).update(signed).digest("hex")}`;
    const headers = { authorization: "", "x-github-event": "push", "x-hub-signature-256": signature };
    const forged = JSON.stringify(push("Nobody has signed this"));
    const send = (body: string, id: string): Promise<{ status: number }> =>
      installation().post("/reveille/github", body, { ...headers, "x-github-delivery": id });
    expect(await send(forged, "d-1")).toMatchObject({ status: 401 });
    expect(await send(signed, "d-2")).toMatchObject({ status: 200 });
    await installation().eventually(() => {
      const runs = installation().model.callsWith("Keep it logically awesome");
      expect(runs.filter(({ session }) => session.startsWith("agent:main:subagent:run-"))).not.toEqual([]);
    });
    expect(installation().model.callsWith("Nobody has signed this")).toEqual([]);
  });

  it("takes a block with a transform into use without a restart, and runs it", async () => {
    installation().writeTransform(
      "shape.mjs",
      "export default ({ payload }) => ({ action: 'wake', text: `shaped: ${payload.word}` });\n",
    );
    const from = installation().gateway.log.length;
    installation().configure(shapedBlock);
    await installation().gateway.waitForLog("configuration applied (reload)", from);
    expect(await installation().post("/elsewhere/shaped", { word: "clay" })).toMatchObject({ status: 200 });
    await installation().eventually(() => expect(mainPrompts()).toContain("shaped: clay"));
    expect(await installation().post("/reveille/wake", { text: "gone" })).toMatchObject({ status: 404 });
  });

  it("keeps the active block when the next one is refused, and says why", async () => {
    const from = installation().gateway.log.length;
    installation().configure({ ...shapedBlock, token: GATEWAY_TOKEN });
    await installation().gateway.waitForLog("The new configuration is refused", from);
    expect(installation().gateway.log.slice(from)).not.toContain(GATEWAY_TOKEN);
    // The service that runs goes on: the host has not loaded the plugin anew.
    expect(installation().gateway.log.slice(from)).not.toContain("configuration applied (start)");
    const call = { message: "Look again [say still]", channel: "telegram", to: "778" };
    expect(await installation().post("/elsewhere/agent", call)).toMatchObject({ status: 202 });
    await installation().eventually(() =>
      expect(installation().botApi.sent).toContainEqual({ to: "778", text: "Done: still" }),
    );
  });

  it("refuses a path that the host's own hooks have", async () => {
    let from = installation().gateway.log.length;
    installation().withHostSections({ hooks: { enabled: true, token: "the-token-of-the-built-in-hooks" } });
    installation().configure({ ...block, path: "/hooks/reveille" });
    await installation().gateway.waitForLog("is taken by OpenClaw's built-in hooks at /hooks", from);
    installation().withHostSections({});
    from = installation().gateway.log.length;
    installation().configure(shapedBlock);
    await installation().gateway.waitForLog("configuration applied (reload)", from);
  });

  /** Configures, and waits for what a wake without a text is answered then: 400 by the ingress, 404 by the host. */
  async function configureUntil(status: number, path: string, enabled: boolean): Promise<void> {
    const { gateway } = installation();
    const from = gateway.log.length;
    const answers = async (): Promise<boolean> => {
      const answer = await installation()
        .post(`${path}/wake`, {})
        .catch(() => undefined);
      return answer?.status === status;
    };
    const what = `${path} answers ${status}`;
    installation().configure(block, { enabled });
    // A host that is very busy gives up loading a plugin after some seconds; its owner is told to restart it then.
    await gateway.until(async () => (await answers()) || gateway.log.includes("config reload failed", from), what);
    if (await answers()) return;
    await installation().restart({ ready: (next) => next.until(answers, what) });
  }

  it("serves nothing while it is disabled, and everything after it was enabled again", async () => {
    await configureUntil(404, "/elsewhere", false);
    await configureUntil(400, "/reveille", true);
    expect(await installation().post("/reveille/wake", { text: "Back again." })).toMatchObject({ status: 200 });
    await installation().eventually(() => expect(mainPrompts()).toContain("Back again."));
  });
});
