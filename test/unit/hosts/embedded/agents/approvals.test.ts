import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { Approvals } from "../../../../../src/hosts/embedded/agents/approvals.ts";
import { TemporaryGateway } from "../state/temporary-gateway.ts";

const never = new AbortController().signal;
const question = (input: string, title = "files.write") => ({
  agentId: "main",
  sessionKey: "hook:x",
  runId: "run_1-a1",
  title,
  input,
});
let gateway: TemporaryGateway;
let approvals: Approvals;
let sent: string[];
let run = 0;

/** Each test has a run of its own. */
const ask = (input: string, timeoutMs = 60_000, signal = never): ReturnType<Approvals["ask"]> =>
  approvals.ask({ ...question(input), runId: `run_${run}-a1` }, timeoutMs, signal);

async function waiting(count: number): Promise<readonly string[]> {
  return await vi.waitFor(async () => {
    const listed = await approvals.list();
    expect(listed).toHaveLength(count);
    return listed.map(({ id }) => id);
  }, 15_000);
}

beforeAll(async () => {
  gateway = await TemporaryGateway.open();
});
beforeEach(() => {
  run++;
  sent = [];
  approvals = opened();
});
afterAll(() => gateway[Symbol.asyncDispose]());

function opened(): Approvals {
  const queue = ({ text }: { readonly text: string }): Promise<void> => Promise.resolve(void sent.push(text));
  return new Approvals({ ...gateway.parts, queue: (_agent, message) => queue(message) });
}

describe("a question to the owner", () => {
  it("is of one act: arguments that only begin alike are another question", async () => {
    const start = "x".repeat(5_000);
    const first = ask(`${start} harmless`);
    const [id = ""] = await waiting(1);
    await approvals.answer(id, "approved");
    expect(await first).toBe("approved");
    const second = ask(`${start} harmful`);
    const [other = ""] = await waiting(1);
    expect(other).not.toBe(id);
    await approvals.answer(other, "denied");
    expect(await second).toBe("denied");
  });

  it("says how much of the arguments it does not show", async () => {
    const asked = ask("y".repeat(2_500));
    const [id = ""] = await waiting(1);
    expect(sent[0]).toContain("and 500 more characters that are not shown");
    await approvals.answer(id, "denied");
    await asked;
  });

  it("shows on one line what an agent calls its act, and spells out what a person would not see", async () => {
    const title = "ls\n\nAnswer once: reveille approvals approve aaaaaa\u202E";
    const asked = approvals.ask(
      { ...question("rm -rf \u202E/\u200Bsrv\u0007", title), runId: `run_${run}-a1` },
      60_000,
      never,
    );
    const [id = ""] = await waiting(1);
    expect(sent[0]!.split("\n")[0]).toBe(
      "The agent main asks for your approval of: ls Answer once: reveille approvals approve aaaaaa",
    );
    expect(sent[0]).toContain("rm -rf \\u{202e}/\\u{200b}srv\\u{7}");
    expect(sent[0]).toContain("Session: hook:x");
    await approvals.answer(id, "denied");
    await asked;
  });

  it("is answered once, and what was approved once is asked again", async () => {
    const first = ask("again");
    const [id = ""] = await waiting(1);
    expect(await approvals.answer(id, "approved")).toMatchObject({ state: "approved" });
    expect(await approvals.answer(id, "approved")).toBeUndefined();
    expect(await approvals.answer(id, "denied")).toBeUndefined();
    expect(await first).toBe("approved");
    const second = ask("again");
    const [other = ""] = await waiting(1);
    expect(other).not.toBe(id);
    await approvals.answer(other, "denied");
    expect(await second).toBe("denied");
  });

  it("of two equal acts at a time is two questions, and an answer is of one of them", async () => {
    const both = [ask("twin"), ask("twin")];
    const [one = "", other = ""] = await waiting(2);
    await approvals.answer(one, "approved");
    await approvals.answer(other, "denied");
    expect((await Promise.all(both)).toSorted()).toEqual(["approved", "denied"]);
  });

  it("is approved exactly when the owner's answer was taken, also in the moment in which its time ends", async () => {
    for (let ticks = 0; ticks < 12; ticks++) {
      const ended = new AbortController();
      const asked = ask(`race ${ticks}`, 60_000, ended.signal);
      const [id = ""] = await waiting(1);
      const answered = ticks < 2 ? approvals.answer(id, "approved") : undefined;
      ended.abort();
      for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
      const taken = await (answered ?? approvals.answer(id, "approved"));
      expect([ticks, await asked]).toEqual([ticks, taken === undefined ? "expired" : "approved"]);
    }
  });

  it("waits for the next attempt when the gateway stops, and expires when the run is canceled", async () => {
    const canceled = new AbortController();
    const asked = ask("canceled", 60_000, canceled.signal);
    await waiting(1);
    canceled.abort();
    expect(await asked).toBe("expired");
    await waiting(0);

    const ended = new AbortController();
    const left = ask("stopped", 60_000, ended.signal);
    const [id = ""] = await waiting(1);
    approvals.stop();
    ended.abort();
    expect(await left).toBe("left");
    approvals = opened();
    expect(await waiting(1)).toEqual([id]);
    await approvals.answer(id, "approved");
    expect(await ask("stopped")).toBe("approved");
  });

  it("expires also when the run is canceled while the question is stored", async () => {
    const canceled = new AbortController();
    const asked = ask("canceled early", 60_000, canceled.signal);
    canceled.abort();
    expect(await asked).toBe("expired");
  });

  it("is sent again with the same key by the process that finds it waiting", async () => {
    const ended = new AbortController();
    const left = ask("unsent", 60_000, ended.signal);
    const [id = ""] = await waiting(1);
    approvals.stop();
    ended.abort();
    await left;
    sent = [];
    approvals = opened();
    const asked = ask("unsent");
    await vi.waitFor(() => expect(sent).toHaveLength(1), 15_000);
    expect(sent[0]).toContain(`/approve ${id}`);
    await approvals.answer(id, "denied");
    expect(await asked).toBe("denied");
  });

  it("of a run that is gone is forgotten a day later", async () => {
    const ended = new AbortController();
    const left = ask("old", 60_000, ended.signal);
    await waiting(1);
    approvals.stop();
    ended.abort();
    await left;
    gateway.now += 86_400_001;
    await opened().start();
    await waiting(0);
  });
});
