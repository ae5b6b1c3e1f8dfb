import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import type { DeliveryDetail } from "../../../src/core/delivery.ts";
import type { EmbeddedGateway } from "../../../src/hosts/embedded/gateway.ts";
import { baseConfig, callHook, GatewayFixture, readApi } from "../../unit/hosts/embedded/gateway/fixture.ts";
import { ended, post, program } from "./acting-gateway.ts";

/** A multiple of three, and one. */
const RUNS = Number(process.env["LEFTOVER_RUNS"] ?? 31);
const THIRD = Math.floor(RUNS / 3);
const PATIENCE = { timeout: 240_000, interval: 200 };
const fixture = new GatewayFixture();
const repository = join(fixture.folder, "repository");
/** In the arguments of each process that an agent of this test starts. */
const MARK = `leftover-${process.pid}`;
let gateway: EmbeddedGateway;

/** Starts a process that ignores the request to end, and waits for it when it is to hang. */
const SCRIPT = `sh -c 'trap "" TERM; sleep 60' ${MARK} & grep -q hang && wait; echo done`;

beforeAll(async () => {
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
  fixture.write({
    ...baseConfig,
    agents: {
      defaults: { heartbeat: { every: "0m" } },
      list: [
        { id: "main", default: true },
        { id: "shell", runtime: { type: "command", command: ["sh", "-c", SCRIPT], isolation: "none" } },
        { id: "acp", runtime: acp },
      ],
    },
    hooks: {
      ...baseConfig.hooks,
      concurrency: 8,
      mappings: ["shell", "acp"].flatMap((agentId) => [
        { ...mapping, match: { path: agentId }, agentId },
        { ...mapping, match: { path: `${agentId}-short` }, agentId, timeoutSeconds: 1 },
      ]),
    },
  });
  gateway = await fixture.start();
});
afterAll(() => fixture.remove());

async function stateOf(id: string): Promise<string> {
  return ((await (await readApi(gateway, `deliveries/${id}`)).json()) as DeliveryDetail).state;
}

function marked(): string[] {
  const listed = execFileSync("ps", ["-eo", "pid=,args="], { encoding: "utf8" });
  return listed.split("\n").filter((line) => line.includes(MARK) && !line.includes("ps -eo"));
}

function copies(agentId: string): string[] {
  return readdirSync(join(fixture.stateDir, "agents", agentId, "workspaces/copies"));
}

it("leaves no process and no working copy after many runs, a third canceled and a third out of time", async () => {
  const ids = await Promise.all(
    Array.from({ length: RUNS }, async (_, number) => {
      const agent = number % 2 === 0 ? "shell" : "acp";
      const [path, text] = [
        [agent, "do:echo fine"],
        [agent, "do:hang"],
        [`${agent}-short`, "do:hang"],
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
  expect([copies("shell"), copies("acp")]).toEqual([[], []]);
  await gateway.stop();
  expect(marked()).toEqual([]);
}, 300_000);
