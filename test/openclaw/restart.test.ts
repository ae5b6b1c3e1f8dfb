import { describe, expect, it, onTestFinished, vi } from "vitest";
import { GATEWAY_TOKEN } from "./host-config.ts";
import { installationOfSuite } from "./installation-of-suite.ts";
import { HOOK_TOKEN } from "./running-installation.ts";
import type { RunningInstallation } from "./running-installation.ts";
import type { Answer } from "./running-installation.ts";
import { wordOf } from "./scripted-model.ts";

const patience = { timeout: 120_000, interval: 200 };
const block = { enabled: true, token: HOOK_TOKEN };
/** The host does not load a plugin anew while work of it is under way, gives up when it is too busy, and says so. */
const MAX_RELOADS = 10;
const RELOAD_AGAIN = /retry after the work finishes|timed out|did not settle within/;
/** Between calls: longer than one takes on any machine, so that most of the time none is under way. */
const CALL_EVERY_MS = 300;
const PAUSE_PER_CALL = 3;
/** The host itself answers 500 for a moment, between the plugin before and the next: senders try again as well. */
const COME_AGAIN: ReadonlySet<number> = new Set([500, 503]);

describe("a gateway that is stopped, reloads the plugin, or cannot start it", () => {
  const installation = installationOfSuite(block);

  it("lets a run in progress end when it is stopped, and sends its reply once", async () => {
    const release = installation().model.hold();
    // A run that stays under way would hold up every stop that follows.
    onTestFinished(release);
    expect(await accept("drained.")).toMatchObject({ status: 202 });
    await vi.waitFor(() => expect(attempts("drained.")).toHaveLength(1), patience);
    const from = installation().gateway.log.length;
    const stopped = installation().gateway.stop();
    await installation().gateway.waitForLog("draining active work", from);
    expect(await accept("too late.")).toMatchObject({ status: 503 });
    release();
    await stopped;
    await installation().restart();
    await vi.waitFor(() => expect(sent("drained.")).toHaveLength(1), patience);
    expect(attempts("drained.")).toHaveLength(1);
    expect(attempts("too late.")).toHaveLength(0);
  });

  it("answers calls or 503 while the plugin reloads, and runs each accepted call once", async () => {
    const answers = new Map<string, number>();
    const loaded = new AbortController();
    const calling = (async () => {
      for (let at = 0; !loaded.signal.aborted; at++) {
        const word = `reloaded-${at}.`;
        const from = performance.now();
        answers.set(word, (await accept(word)).status);
        const pause = Math.max(CALL_EVERY_MS, PAUSE_PER_CALL * (performance.now() - from));
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
    })();
    try {
      await reload();
    } finally {
      loaded.abort();
      await calling;
    }
    const others = [...answers.values()].filter((status) => !COME_AGAIN.has(status) && status !== 202);
    expect(others).toEqual([]);
    expect(await accept("after.")).toMatchObject({ status: 202 });
    const accepted = [...answers].filter(([, status]) => status === 202).map(([word]) => word);
    for (const word of [...accepted, "after."]) {
      await vi.waitFor(() => expect(sent(word)).toHaveLength(1), patience);
    }
    const times = [...accepted, "after."].map((word) => attempts(word).length);
    expect(new Set(times)).toEqual(new Set([1]));
  });

  it("answers 503 for as long as it cannot start, and takes calls once it can", async () => {
    installation().configure({ ...block, token: GATEWAY_TOKEN });
    await installation().restart({ ready: (gateway) => gateway.waitForLog("Reveille could not start") });
    const refused = await accept("early.");
    expect(refused).toMatchObject({ status: 503 });
    expect(JSON.parse(refused.text)).toMatchObject({ ok: false, code: "NOT_READY" });
    installation().configure(block);
    await installation().gateway.waitForLog("Reveille answers at");
    expect(await accept("early.")).toMatchObject({ status: 202 });
    await vi.waitFor(() => expect(sent("early.")).toHaveLength(1), patience);
  });

  async function accept(word: string): Promise<Answer> {
    const call = { message: `Carry on [say ${word}]`, name: word, channel: "telegram", to: "777" };
    // A connection that was idle while the host was busy may be closed just when the next call uses it.
    return installation().post("/reveille/agent", call, { connection: "close" });
  }

  async function reload(): Promise<void> {
    for (let tries = 1; ; tries++) {
      const { code, out } = await installation().openclaw("plugins", "reload", "reveille");
      if (code === 0) return;
      if (tries === MAX_RELOADS || !RELOAD_AGAIN.test(out)) throw new Error(out);
    }
  }

  function attempts(word: string): RunningInstallation["model"]["calls"] {
    return installation().model.calls.filter(
      ({ session, prompt }) => session.includes(":subagent:") && wordOf(prompt) === word,
    );
  }

  function sent(word: string): readonly string[] {
    return installation()
      .botApi.sent.map(({ text }) => text)
      .filter((text) => text === `Done: ${word}`);
  }
});
