import { describe, expect, it, onTestFinished } from "vitest";
import { GATEWAY_TOKEN } from "./host-config.ts";
import { installationOfSuite } from "./installation-of-suite.ts";
import { HOOK_TOKEN } from "./running-installation.ts";
import type { RunningInstallation } from "./running-installation.ts";
import type { Answer } from "./running-installation.ts";
import { wordOf } from "./scripted-model.ts";

/** A call may arrive in parts for as long as a command of the host takes on a busy machine. */
const block = { enabled: true, token: HOOK_TOKEN, bodyTimeoutSeconds: 300 };
/** The host does not load a plugin anew while work of it is under way, gives up when it is too busy, and says so. */
const MAX_RELOADS = 10;
const RELOAD_AGAIN = /retry after the work finishes|timed out|did not settle within/;
const CALL_EVERY_MS = 50;
/** Of the calls in one reload: most come to the instance after it, and each is a run. */
const MAX_ACCEPTED = 5;
/** The host itself answers 500 for a moment, between the plugin before and the next: senders try again as well. */
const COME_AGAIN: ReadonlySet<number> = new Set([500, 503]);

describe("a gateway that is stopped, reloads the plugin, or cannot start it", () => {
  const installation = installationOfSuite(block);

  it("lets a run in progress end when it is stopped, and sends its reply once", async () => {
    const release = installation().model.hold();
    // A run that stays under way would hold up every stop that follows.
    onTestFinished(release);
    expect(await accept("drained.")).toMatchObject({ status: 202 });
    await installation().eventually(() => expect(attempts("drained.")).toHaveLength(1));
    const from = installation().gateway.log.length;
    const stopped = installation().gateway.stop();
    await installation().gateway.waitForLog("draining active work", from);
    expect(await accept("too late.")).toMatchObject({ status: 503 });
    release();
    await stopped;
    await installation().restart();
    await installation().eventually(() => expect(sent("drained.")).toHaveLength(1));
    expect(attempts("drained.")).toHaveLength(1);
    expect(attempts("too late.")).toHaveLength(0);
  });

  it("answers calls or 503 while the plugin reloads, and runs each accepted call once", async () => {
    const answers = new Map<string, number>();
    for (let tries = 1; ; tries++) {
      // The host waits for it before it stops the instance that it replaces: a call that has not arrived whole.
      const late = await installation().beginCall("/reveille/agent", callOf(`late-${tries}.`));
      const over = new AbortController();
      const reloading = installation()
        .openclaw("plugins", "reload", "reveille")
        .finally(() => over.abort());
      await installation().gateway.until(
        async () => over.signal.aborted || (await isRetired()),
        "the host retires the plugin",
      );
      answers.set(`late-${tries}.`, await late.finish());
      for (let accepted = 0; accepted < MAX_ACCEPTED && !over.signal.aborted;) {
        const word = `reloaded-${answers.size}.`;
        const { status } = await accept(word);
        answers.set(word, status);
        if (status === 202) accepted++;
        await new Promise((resolve) => setTimeout(resolve, CALL_EVERY_MS));
      }
      const { code, out } = await reloading;
      if (code === 0) break;
      if (tries === MAX_RELOADS || !RELOAD_AGAIN.test(out)) throw new Error(out);
      // The host reloads nothing while a run is under way.
      await allSent(answers);
    }
    answers.set("after.", (await accept("after.")).status);
    expect([...answers.values()].filter((status) => !COME_AGAIN.has(status) && status !== 202)).toEqual([]);
    expect([...answers.keys()].filter((word) => answers.get(word) === 202)).toEqual(
      expect.arrayContaining([expect.stringContaining("late-"), "after."]),
    );
    await allSent(answers);
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
    await installation().eventually(() => expect(sent("early.")).toHaveLength(1));
  });

  async function accept(word: string): Promise<Answer> {
    return installation().post("/reveille/agent", callOf(word));
  }

  function callOf(word: string): object {
    return { message: `Carry on [say ${word}]`, name: word, channel: "telegram", to: "777" };
  }

  /** Every call that was accepted runs once, and its reply is sent once. */
  async function allSent(answers: ReadonlyMap<string, number>): Promise<void> {
    for (const word of [...answers.keys()].filter((each) => answers.get(each) === 202)) {
      await installation().eventually(() => expect(sent(word)).toHaveLength(1));
      expect(attempts(word)).toHaveLength(1);
    }
  }

  /** The host itself answers for an instance that it replaces; the ingress answers a wake without a text with 400. */
  async function isRetired(): Promise<boolean> {
    return (await installation().post("/reveille/wake", {})).status === 500;
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
