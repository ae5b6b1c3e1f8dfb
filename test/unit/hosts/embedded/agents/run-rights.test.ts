import { describe, expect, it } from "vitest";
import type { Act } from "../../../../../src/hosts/embedded/agents/permissions.ts";
import { type RightsOptions, RunRights } from "../../../../../src/hosts/embedded/agents/run-rights.ts";

const act: Act = { kind: "other", title: "files.write", input: "z".repeat(5_000) };

function rightsWith(overrides: Partial<RightsOptions>): RunRights {
  return new RunRights({
    own: "ask",
    lowered: [],
    isWithOwner: false,
    approvals: { ask: () => Promise.resolve("denied") },
    approvalTimeoutMs: 1_000,
    of: { agentId: "a", sessionKey: "s", runId: "r" },
    cwd: "/nowhere",
    clock: { now: () => 0 },
    signal: new AbortController().signal,
    onHold: () => {},
    ...overrides,
  });
}

describe("the rights of a run", () => {
  it("ask with all of the arguments, and word a denial by its cause", async () => {
    const asked: (string | undefined)[] = [];
    const ended = new AbortController();
    const of = (answer: "expired" | "left" | "denied"): RunRights =>
      rightsWith({
        approvals: { ask: ({ input }) => (asked.push(input), Promise.resolve(answer)) },
        signal: ended.signal,
      });
    expect(await of("expired").judge(act)).toMatchObject({ why: "the owner did not answer in time" });
    expect(await of("denied").judge(act)).toMatchObject({ why: "the owner denied it" });
    ended.abort();
    expect(await of("expired").judge(act)).toMatchObject({ why: "the run was ended" });
    expect(asked).toEqual([act.input, act.input, act.input]);
  });

  it("ask the owner ten questions at a time at most", async () => {
    const answer = Promise.withResolvers<"approved">();
    let asked = 0;
    const rights = rightsWith({ approvals: { ask: () => ((asked += 1), answer.promise) } });
    const verdicts = Promise.all(Array.from({ length: 12 }, () => rights.judge(act)));
    answer.resolve("approved");
    expect((await verdicts).filter(({ allowed }) => allowed)).toHaveLength(10);
    expect(asked).toBe(10);
    expect(await rights.judge(act)).toEqual({ allowed: true });
  });
});

describe("what is kept of a run", () => {
  it("leaves out no denial for many calls, and no refused host for many denials", async () => {
    const rights = rightsWith({ own: "deny" });
    for (let at = 0; at < 300; at++) rights.called({ title: "read", input: undefined }, "x");
    for (let at = 0; at < 300; at++) await rights.judge(act);
    for (let at = 0; at < 300; at++) rights.refusedHost(`${at}.example.com:443`);
    const count = (wanted: string): number => rights.activity.filter(({ kind }) => kind === wanted).length;
    expect([count("call"), count("denied"), count("refused-host")]).toEqual([120, 40, 40]);
  });

  it("is short, whatever an agent calls its act", async () => {
    const rights = rightsWith({ own: "deny" });
    await rights.judge({ ...act, title: "t".repeat(100_000) });
    expect(rights.denied!.length).toBeLessThan(310);
    expect(JSON.stringify(rights.activity).length).toBeLessThan(1_000);
  });

  it("names a refused host once, and says when it may have been another run of the process", () => {
    const rights = rightsWith({});
    const long = `${"x".repeat(1_000)}.example.com:443`;
    for (const host of ["a.example.com:443", "a.example.com:443", long, long]) rights.refusedHost(host, 3);
    rights.refusedHost("b.example.com:443");
    expect(rights.activity).toMatchObject([
      { title: "a.example.com:443", output: "asked for by one of the 3 runs in the process" },
      { title: expect.stringContaining("xxx …") },
      { title: "b.example.com:443" },
    ]);
    expect(rights.activity[2]).not.toHaveProperty("output");
  });
});
