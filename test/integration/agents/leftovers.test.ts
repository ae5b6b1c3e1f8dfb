import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import type { DeliveryDetail } from "../../../src/core/delivery.ts";
import type { EmbeddedGateway } from "../../../src/hosts/embedded/gateway.ts";
import { baseConfig, callHook, GatewayFixture, readApi } from "../../unit/hosts/embedded/gateway/fixture.ts";
import { canConfine } from "../../../src/hosts/embedded/programs/probe.ts";
import { ended, post, program, ToolModel } from "./acting-gateway.ts";

/** A multiple of three, and one. */
const RUNS = Number(process.env["LEFTOVER_RUNS"] ?? 100);
const THIRD = Math.floor(RUNS / 3);
const problem = await canConfine();
/** What each agent is given to do, and to hang. */
const TEXTS = {
  shell: ["fine", "go-on-forever"],
  acp: ["do:echo fine", "do:hang"],
  model: ['[issues__get_issue {"number":7}]', "[issues__wait {}]"],
  confined: ["fine", "go-on-forever"],
} as const;
type AgentId = keyof typeof TEXTS;
const AGENTS = (["shell", "acp", "model", "confined"] as const).filter(
  (id) => id !== "confined" || problem === undefined,
);
const PATIENCE = { timeout: 120_000, interval: 200 };
const fixture = new GatewayFixture();
const repository = join(fixture.folder, "repository");
/** In the arguments of each process that an agent of this test starts. */
const MARK = `leftover-${process.pid}`;
let model: ToolModel;
let gateway: EmbeddedGateway;
const begun = Date.now();

/**
 * Starts a process that ignores the request to end, and outlives the patience of this test; waits for it when it is to
 * hang. Leaves a temporary file. The word is one that the boundary around the text does not hold.
 */
const SCRIPT = `mktemp > /dev/null; sh -c 'trap "" TERM; sleep 600' ${MARK} & grep -q go-on-forever && wait; echo done`;

beforeAll(async () => {
  model = await ToolModel.start();
  mkdirSync(repository);
  const git = (...args: string[]): unknown =>
    execFileSync("git", ["-c", "user.name=A", "-c", "user.email=a@example.com", ...args], { cwd: repository });
  git("init", "--quiet", "--initial-branch=main");
  writeFileSync(join(repository, "README"), "hello");
  git("add", ".");
  git("commit", "--quiet", "-m", "first");
  const mapping = {
    acceptAllThree: "what it can do is tested here",
    deliver: false,
    wakeMode: "next-heartbeat",
    messageTemplate: "{{text}}",
    workspace: { git: `file://${repository}`, ref: "main" },
  };
  const acp = { type: "acp", command: [process.execPath, program("acp-agent.mjs"), MARK], isolation: "none" };
  const server = { command: [process.execPath, program("mcp-server.mjs"), MARK], isolation: "none" };
  const tools = { mcp: { issues: server }, allow: ["issues.get_issue", "issues.wait"] };
  const command = ["sh", "-c", SCRIPT];
  fixture.write({
    ...baseConfig,
    models: { providers: { local: { baseUrl: `${model.origin}/v1` } } },
    agents: {
      defaults: { heartbeat: { every: "0m" } },
      list: [
        { id: "main", default: true },
        { id: "shell", runtime: { type: "command", command, isolation: "none" } },
        { id: "confined", runtime: { type: "command", command } },
        { id: "model", model: "local/m", permissions: "reads", tools },
        { id: "acp", runtime: acp },
      ],
    },
    hooks: {
      ...baseConfig.hooks,
      concurrency: 8,
      mappings: AGENTS.flatMap((agentId) => [
        { ...mapping, match: { path: agentId }, agentId },
        { ...mapping, match: { path: `${agentId}-short` }, agentId, timeoutSeconds: 1 },
      ]),
    },
  });
  gateway = await fixture.start();
});
afterAll(async () => {
  await fixture.remove();
  await model.stop();
});

async function stateOf(id: string): Promise<string> {
  return ((await (await readApi(gateway, `deliveries/${id}`)).json()) as DeliveryDetail).state;
}

/** With what tells where a process came from, and for how long it has run. */
function marked(): string[] {
  const listed = execFileSync("ps", ["-eo", "pid=,ppid=,pgid=,stat=,etimes=,args="], { encoding: "utf8" });
  return listed.split("\n").filter((line) => line.includes(MARK) && !line.includes("ps -eo"));
}

function filesIn(...path: string[]): string[] {
  const folder = join(fixture.stateDir, "agents", ...path);
  return existsSync(folder) ? readdirSync(folder) : [];
}

/** Sockets of proxies whose process has ended; those of other tests go as well. */
function sockets(): string[] {
  return readdirSync(tmpdir()).filter((name) => {
    const pid = /^srt-mux-(\d+)-/u.exec(name)?.[1];
    return pid !== undefined && !existsSync(`/proc/${pid}`) && statSync(join(tmpdir(), name)).ctimeMs > begun;
  });
}

it("leaves no process, working copy or temporary file after a hundred runs, a third canceled and a third out of time", async () => {
  const ids = await Promise.all(
    Array.from({ length: RUNS }, async (_, number) => {
      const agent: AgentId = AGENTS[Math.floor(number / 3) % AGENTS.length]!;
      const [fine, hanging] = TEXTS[agent];
      const [path, text] = [
        [agent, fine],
        [agent, hanging],
        [`${agent}-short`, hanging],
      ][number % 3]!;
      const answer = await callHook(gateway, `/hooks/${path}`, { text });
      const { deliveryId } = (await answer.json()) as { deliveryId: string };
      return { deliveryId, isCanceled: number % 3 === 1 };
    }),
  );
  const states = await Promise.all(
    ids.map(async ({ deliveryId, isCanceled }) => {
      if (isCanceled) {
        await vi.waitFor(async () => expect(await stateOf(deliveryId)).toBe("running"), PATIENCE);
        await post(gateway, `deliveries/${deliveryId}/cancel`);
      }
      const { state, runs } = await ended(gateway, deliveryId, PATIENCE.timeout);
      if (state === "failed" && runs[0]!.attempts.at(-1)!.status === "error") return runs[0]!.reason;
      return state === "failed" ? runs[0]!.attempts.at(-1)!.status : state;
    }),
  );
  const count = (state: string): number => states.filter((each) => each === state).length;
  expect(states.filter((state) => !["done", "canceled", "timeout"].includes(state ?? ""))).toEqual([]);
  expect([count("done"), count("canceled"), count("timeout")]).toEqual([RUNS - 2 * THIRD, THIRD, THIRD]);

  // The one warm process of the agent that speaks ACP stays.
  await vi.waitFor(() => expect(marked().filter((line) => !line.includes("acp-agent.mjs"))).toEqual([]), 15_000);
  expect(marked().length).toBeLessThanOrEqual(1);
  for (const id of AGENTS) {
    expect([id, filesIn(id, "workspaces/copies"), filesIn(id, "workspaces/made")]).toEqual([id, [], []]);
    if (id !== "acp") expect([id, filesIn(id, "home/tmp")]).toEqual([id, []]);
  }
  await gateway.stop();
  expect(marked()).toEqual([]);
  expect(filesIn("acp", "home/tmp")).toEqual([]);
  await vi.waitFor(() => expect(sockets()).toEqual([]), 15_000);
}, 300_000);
