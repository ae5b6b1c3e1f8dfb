import { describe, expect, it, onTestFinished } from "vitest";
import { installationOfSuite } from "./installation-of-suite.ts";
import { HOOK_TOKEN } from "./running-installation.ts";
import type { RunningInstallation } from "./running-installation.ts";
import { wordOf } from "./scripted-model.ts";

const words = ["one", "two", "three", "four", "five"];
/** As many run at once; the last one waits. */
const CONCURRENCY = 4;

describe("a gateway that is killed", () => {
  const installation = installationOfSuite({ enabled: true, token: HOOK_TOKEN, concurrency: CONCURRENCY });

  it("loses no run in progress, and runs none twice by the host's recovery and ours together", async () => {
    const release = installation().model.hold();
    // Without it a failure here would be one of the next test as well.
    onTestFinished(release);
    for (const word of words) {
      const call = { message: `Carry on [say ${word}]`, name: word, channel: "telegram", to: "777" };
      expect(await installation().post("/reveille/agent", call)).toMatchObject({ status: 202 });
    }
    await installation().eventually(() => expect(runs()).toHaveLength(CONCURRENCY));
    const begun = new Set(runs().map(({ prompt }) => wordOf(prompt)));
    await installation().gateway.kill();
    release();
    await installation().restart();
    await installation().eventually(() => {
      const sent = installation().botApi.sent.map(({ text }) => text);
      expect(new Set(sent)).toEqual(new Set(words.map((word) => `Done: ${word}`)));
    });
    // The host takes up sessions of its own some seconds after its start.
    await new Promise((resolve) => setTimeout(resolve, 20_000));
    expect(installation().botApi.sent).toHaveLength(words.length);
    for (const word of words) {
      const attempts = runs().filter(({ prompt }) => wordOf(prompt) === word);
      const numbers = attempts.map(({ session }) => /-a(\d+)-/.exec(session)?.[1]);
      // An attempt that a host refused before it was ready has asked no model.
      expect(numbers).toHaveLength(begun.has(word) ? 2 : 1);
      expect(new Set(numbers).size).toBe(numbers.length);
    }
  });

  it("keeps the events that no turn has taken", async () => {
    for (let at = 0; at < 30; at++) {
      await installation().post("/reveille/wake", { text: `later-${at}.`, mode: "next-heartbeat" });
    }
    await installation().gateway.kill();
    await installation().restart();
    await installation().post("/reveille/wake", { text: "now." });
    await installation().eventually(() => {
      const told = installation()
        .model.calls.map(({ prompt }) => prompt)
        .join("\n");
      const missing = Array.from({ length: 30 }, (_, at) => `later-${at}.`).filter((text) => !told.includes(text));
      expect(missing).toEqual([]);
    });
  });

  function runs(): RunningInstallation["model"]["calls"] {
    return installation().model.calls.filter(({ session }) => session.includes(":subagent:"));
  }
});
