import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { homedir } from "node:os";
import { join, relative, sep } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { EmbeddedGateway } from "../../../src/hosts/embedded/gateway.ts";
import { canConfine } from "../../../src/hosts/embedded/programs/probe.ts";
import { baseConfig, GatewayFixture } from "../../unit/hosts/embedded/gateway/fixture.ts";
import { acts, endedRun, post, program } from "./acting-gateway.ts";

const fixture = new GatewayFixture();
const repository = join(fixture.folder, "repository");
const work = join(fixture.folder, "work");
const problem = await canConfine();
let gateway: EmbeddedGateway;
let host: Server;
let port: number;

const acp = { type: "acp", command: [process.execPath, program("acp-agent.mjs")], read: [program("")] };
/** Carries out the lines of its prompt that begin with a dollar sign. */
const shell = { type: "command", command: ["sh", "-c", "sed -n 's/^[$] //p' | sh"], cwd: work };
const mapping = {
  acceptAllThree: "what it can do is tested here",
  deliver: false,
  wakeMode: "next-heartbeat",
  messageTemplate: "{{text}}",
};
const git = { git: `file://${repository}`, ref: "{{ref}}" };

/** A prompt with a line for the shell. */
const run = (path: string, script: string, more: object = {}): ReturnType<typeof endedRun> =>
  endedRun(gateway, path, { text: `\n$ ${script}\n`, ...more });

beforeAll(async () => {
  mkdirSync(work);
  mkdirSync(repository);
  const command = (...args: string[]): unknown =>
    execFileSync("git", ["-c", "user.name=A", "-c", "user.email=a@example.com", ...args], { cwd: repository });
  command("init", "--quiet", "--initial-branch=main");
  writeFileSync(join(repository, "README"), "hello");
  command("add", ".");
  command("commit", "--quiet", "-m", "first");
  command("checkout", "--quiet", "-b", "feature/x");
  writeFileSync(join(repository, "FEATURE"), "new");
  command("add", ".");
  command("commit", "--quiet", "-m", "second");
  host = createServer((_req, res) => res.end("the model says hello")).listen(0, "127.0.0.1");
  await vi.waitFor(() => expect(host.listening).toBe(true), 15_000);
  ({ port } = host.address() as AddressInfo);
  const all = { permissions: "all", allowUntrusted: true, egress: [`127.0.0.1:${port}`] };
  fixture.write({
    ...baseConfig,
    agents: {
      defaults: { heartbeat: { every: "0m" } },
      list: [
        { id: "main", default: true },
        { id: "shell", runtime: shell, ...all },
        { id: "quiet", runtime: shell },
        {
          id: "free",
          runtime: { ...acp, read: undefined, isolation: "none" },
          permissions: { allow: [{ command: "cat README" }] },
        },
        { id: "confined", runtime: acp, ...all },
        { id: "asker", runtime: { ...acp, read: undefined, isolation: "none" }, permissions: "ask" },
      ],
    },
    hooks: {
      ...baseConfig.hooks,
      allowRequestSessionKey: true,
      allowedSessionKeyPrefixes: ["hook:"],
      mappings: [
        ...["shell", "quiet", "free", "confined", "asker"].map((id) => ({
          ...mapping,
          id,
          match: { path: id },
          agentId: id,
          ...(id === "asker" && { timeoutSeconds: 5 }),
        })),
        { ...mapping, id: "copy", match: { path: "copy" }, agentId: "free", workspace: git },
        {
          ...mapping,
          id: "kept",
          match: { path: "kept" },
          agentId: "confined",
          workspace: git,
          sessionMode: "persistent",
          sessionKey: "hook:{{key}}",
        },
        { ...mapping, id: "short", match: { path: "short" }, agentId: "free", timeoutSeconds: 1 },
      ],
    },
  });
  gateway = await fixture.start();
});
afterAll(async () => {
  await fixture.remove();
  host.close();
});

describe("an agent that speaks ACP", () => {
  it("replies with what it streams, and does what a rule allows once it has asked", async () => {
    expect((await endedRun(gateway, "free", { text: "do:echo hello" })).runs[0]!.reply).toContain("do:echo hello");
    const done = await endedRun(gateway, "copy", { text: "do:run cat README", ref: "main" });
    expect(done.runs[0]!.reply).toBe("Ran it: hello");
    expect(acts(done)).toEqual([
      { kind: "call", title: "cat README", input: '{"command":"cat README"}', output: "hello" },
    ]);
  });

  it("fails when it ends with nothing after a denial", async () => {
    const denied = await endedRun(gateway, "free", { text: "do:run cat README; rm README" });
    expect(denied).toMatchObject({ state: "failed", reason: expect.stringContaining("denied: cat README; rm README") });
  });

  it("works in a copy of the repository at the ref of the event, which is gone with the run", async () => {
    const main = await endedRun(gateway, "copy", { text: "do:list", ref: "main" });
    expect(main.runs[0]!.reply).toContain("README");
    expect(main.runs[0]!.reply).not.toContain("FEATURE");
    expect((await endedRun(gateway, "copy", { text: "do:list", ref: "feature/x" })).runs[0]!.reply).toContain(
      "FEATURE",
    );
    expect((await endedRun(gateway, "copy", { text: "do:list", ref: "no-such" })).reason).toContain(
      "at no-such could not",
    );
    expect(readdirSync(join(fixture.stateDir, "agents/free/workspaces/copies"))).toEqual([]);
  });

  it("takes no ref that git could read as anything else", async () => {
    for (const ref of ["--upload-pack=touch pwned", "../x", "main..x", "a b", ""]) {
      const answer = await fetch(`${gateway.url}/hooks/copy`, {
        method: "POST",
        headers: { authorization: `Bearer ${baseConfig.hooks.token}`, "content-type": "application/json" },
        body: JSON.stringify({ text: "do:list", ref }),
      });
      expect(await answer.text()).toContain("requires a git ref");
    }
  });

  it("is canceled when its time is up, and is there for the next run; a crash fails one run only", async () => {
    const late = await endedRun(gateway, "short", { text: "do:hang" });
    expect(late.runs[0]!.attempts.at(-1)!.status).toBe("timeout");
    expect((await endedRun(gateway, "free", { text: "do:crash" })).reason).toContain("the agent ended with status 7");
    expect((await endedRun(gateway, "free", { text: "do:echo again" })).state).toBe("done");
  });

  it("is denied or allowed by the owner's answer", async () => {
    const running = endedRun(gateway, "asker", { text: "do:run pwd" });
    const [{ id }] = await vi.waitFor(async () => {
      const { approvals } = (await (
        await fetch(`${gateway.url}/api/v1/approvals`, {
          headers: { authorization: `Bearer ${baseConfig.gateway.auth.token}` },
        })
      ).json()) as { approvals: [{ id: string }] };
      expect(approvals).toHaveLength(1);
      return approvals;
    }, 20_000);
    // Longer than the run may take: the question is no part of its time.
    await setTimeout(5_500);
    await post(gateway, `approvals/${id}/approve`);
    expect((await running).runs[0]!.reply).toContain("Ran it:");
  });
});

describe.skipIf(problem !== undefined)("a confined program", () => {
  it("writes in its working directory and nowhere else", async () => {
    const { reason, state } = await run(
      "shell",
      `echo in > inside; echo out > ${fixture.folder}/outside; touch ~/kept`,
    );
    expect([state, reason]).toEqual(["done", null]);
    expect(existsSync(join(work, "inside"))).toBe(true);
    expect(existsSync(join(fixture.folder, "outside"))).toBe(false);
    expect(existsSync(join(fixture.stateDir, "agents/shell/home/kept"))).toBe(true);
  });

  it("writes nothing there when its permissions allow reading at most", async () => {
    await run("quiet", "echo in > quiet");
    expect(existsSync(join(work, "quiet"))).toBe(false);
  });

  it("reads neither the gateway's state and configuration nor a home", async () => {
    const { runs } = await run(
      "shell",
      `cat ${fixture.configFile}; ls ${fixture.stateDir}; ls -A ${homedir()}; echo end`,
    );
    // The program of the gateway may be installed in it: then the way to it is there.
    const [way] = relative(homedir(), process.execPath).split(sep);
    expect(runs[0]!.reply!.split("\n").filter((line) => line !== way)).toEqual(["agents", "end"]);
  });

  it("reaches the hosts of its egress alone, and each refused one is on the attempt", async () => {
    const get = (url: string): string =>
      `'${process.execPath}' -e 'fetch("${url}").then((r) => r.text()).then(console.log, (e) => console.log("no way"))'`;
    const delivery = await run(
      "shell",
      `${get(`http://127.0.0.1:${port}/`)}; ${get("http://exfiltration.example.com/")}`,
    );
    expect(delivery.runs[0]!.reply).toBe("the model says hello\nno way");
    expect(acts(delivery)).toEqual([{ kind: "refused-host", title: "exfiltration.example.com:80" }]);
  });

  it("has a loopback of its own, with what egress names of the machine's and nothing else", async () => {
    const serve = `require("node:http").createServer((_, res) => res.end("its own")).listen(4096, "127.0.0.1", async () => {
      const said = (url) => fetch(url).then((r) => r.text(), () => "no way");
      console.log(await said("http://127.0.0.1:4096"), await said("http://127.0.0.1:${port}"), await said("${gateway.url}"));
      process.exit();
    })`;
    const delivery = await run("shell", `'${process.execPath}' -e '${serve.replaceAll(/\n\s*/gu, " ")}'`);
    expect(delivery.runs[0]!.reply).toBe("its own the model says hello no way");
  });

  it("that serves several runs says of a refused host that it was one of them, or none", async () => {
    const ask = `'${process.execPath}' -e 'fetch("http://exfiltration.example.com/").catch(() => {})'`;
    // The program takes one after the other: whichever it begins with, the other one waits.
    const both = [1, 2].map(() => endedRun(gateway, "confined", { text: `do:run sleep 1; ${ask}` }));
    const delivered = await Promise.all(both);
    const refused = {
      kind: "refused-host",
      title: "exfiltration.example.com:80",
      output: "asked for by one of the 2 runs in the process",
    };
    for (const delivery of delivered) expect(acts(delivery)).toContainEqual(refused);

    await endedRun(gateway, "confined", { text: `do:run (sleep 1; ${ask}) > /dev/null 2>&1 &` });
    await vi.waitFor(() => {
      const lines = fixture.logger.lines.filter(
        ({ message }) => message === "an agent without a turn was refused a host",
      );
      expect(lines.map(({ fields }) => [fields["agent"], fields["host"]])).toEqual([["confined", refused.title]]);
    }, 15_000);
  });

  it("speaks ACP as well, with a memory of its session, also after a restart", async () => {
    const secret = await endedRun(gateway, "confined", { text: `do:read ${fixture.configFile}` });
    expect(secret.runs[0]!.reply).toBe("no such file");
    const first = await endedRun(gateway, "kept", { text: "do:run echo x > made", ref: "main", key: "k" });
    expect([first.state, first.reason]).toEqual(["done", null]);
    await gateway.stop();
    gateway = await fixture.start();
    const next = await endedRun(gateway, "kept", { text: "do:remember", ref: "main", key: "k" });
    expect(next.runs[0]!.reply).toContain("I have heard 2 messages");
    expect((await endedRun(gateway, "kept", { text: "do:list", ref: "main", key: "k" })).runs[0]!.reply).toContain(
      "made",
    );
  });
});
