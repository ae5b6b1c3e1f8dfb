import { expect, it } from "vitest";
import { SCOPE_ALL } from "../../../src/storage/operational-state.ts";
import type { StoreUnderTest } from "./store-harness.ts";

/** What a gateway remembers of its own operation. */
export function describeOperationalState(underTest: () => StoreUnderTest): void {
  it("starts with no pause, no count and no outage", async () => {
    const { store } = underTest();
    expect([await store.pauses(), await store.usageSince(0), await store.outages()]).toEqual([[], [], []]);
  });

  it("pauses each scope once: the first pause stays until it is resumed", async () => {
    const { store } = underTest();
    const first = { scope: "gmail", reason: "10 runs an hour are used up", since: 1000 };
    expect(await store.pause(first)).toBe(true);
    expect(await store.pause({ scope: "gmail", reason: "another", since: 2000 })).toBe(false);
    expect(await store.pause({ scope: SCOPE_ALL, reason: "all of it", since: 3000 })).toBe(true);
    const all = { scope: SCOPE_ALL, reason: "all of it", since: 3000 };
    expect(await store.pauses()).toEqual(expect.arrayContaining([first, all]));
    expect(await store.pauses()).toHaveLength(2);
    expect(await store.resume("gmail")).toBe(true);
    expect(await store.resume("gmail")).toBe(false);
    expect(await store.resume("unknown")).toBe(false);
    expect(await store.pauses()).toEqual([all]);
    expect(await store.pause({ scope: "gmail", reason: "another", since: 2000 })).toBe(true);
  });

  it("pauses a scope once of twenty simultaneous wishes", async () => {
    const { store } = underTest();
    const wishes = Array.from({ length: 20 }, (_, since) => store.pause({ scope: "m", reason: "r", since }));
    expect((await Promise.all(wishes)).filter(Boolean)).toHaveLength(1);
  });

  it("adds up what is counted for a scope in a minute", async () => {
    const { store } = underTest();
    await store.addUsage([
      { scope: "a", minute: 100, runs: 1, tokens: 0, microUsd: 0 },
      { scope: SCOPE_ALL, minute: 100, runs: 2, tokens: 0, microUsd: 0 },
      { scope: "a", minute: 101, runs: 3, tokens: 0, microUsd: 0 },
    ]);
    await store.addUsage([
      { scope: "a", minute: 101, runs: 4, tokens: 700, microUsd: 250_000 },
      { scope: "a", minute: 101, runs: 5, tokens: 20, microUsd: 1 },
    ]);
    const usage = await store.usageSince(100);
    expect(usage).toHaveLength(3);
    expect(usage).toEqual(
      expect.arrayContaining([
        { scope: "a", minute: 100, runs: 1, tokens: 0, microUsd: 0 },
        { scope: SCOPE_ALL, minute: 100, runs: 2, tokens: 0, microUsd: 0 },
        { scope: "a", minute: 101, runs: 12, tokens: 720, microUsd: 250_001 },
      ]),
    );
    expect(await store.usageSince(101)).toEqual([
      { scope: "a", minute: 101, runs: 12, tokens: 720, microUsd: 250_001 },
    ]);
    expect(await store.usageSince(102)).toEqual([]);
  });

  it("keeps what was counted within two days, and drops what is older as it counts on", async () => {
    const { store } = underTest();
    for (const minute of [1, 1000, 2880, 6000])
      await store.addUsage([{ scope: "a", minute, runs: 1, tokens: 0, microUsd: 0 }]);
    const minutes = (await store.usageSince(0)).map((usage) => usage.minute);
    expect(minutes).toEqual([6000]);
    await store.addUsage([{ scope: "a", minute: 6000 + 2879, runs: 1, tokens: 0, microUsd: 0 }]);
    expect(await store.usageSince(0)).toHaveLength(2);
  });

  it("forgets with the pause what its scope has used, and nothing of others", async () => {
    const { store } = underTest();
    await store.addUsage(["a", "b", SCOPE_ALL].map((scope) => ({ scope, minute: 5, runs: 1, tokens: 0, microUsd: 0 })));
    expect(await store.resume("b")).toBe(false);
    await store.pause({ scope: "a", reason: "used up", since: 1 });
    await store.resume("a");
    const scopes = (await store.usageSince(0)).map((usage) => usage.scope);
    expect(scopes.toSorted()).toEqual([SCOPE_ALL, "b"]);
  });

  it("reports an outage once until it ends", async () => {
    const { store } = underTest();
    expect(await store.openOutage({ subject: "channel:slack", since: 1 })).toBe(true);
    expect(await store.openOutage({ subject: "channel:slack", since: 2 })).toBe(false);
    expect(await store.openOutage({ subject: "agent:main", since: 2 })).toBe(true);
    expect((await store.outages()).toSorted()).toEqual(["agent:main", "channel:slack"]);
    expect(await store.closeOutage("channel:slack")).toBe(true);
    expect(await store.closeOutage("channel:slack")).toBe(false);
    expect(await store.openOutage({ subject: "channel:slack", since: 3 })).toBe(true);
  });

  it("remembers all of it after it was closed and opened again", async () => {
    const { store } = underTest();
    const pause = { scope: "m'; DROP TABLE pauses; --", reason: "why", since: 1 };
    const usage = { scope: "m", minute: 7, runs: 3, tokens: 0, microUsd: 0 };
    await Promise.all([store.pause(pause), store.addUsage([usage]), store.openOutage({ subject: "x", since: 1 })]);
    const reopened = await underTest().reopen();
    expect(await reopened.pauses()).toEqual([pause]);
    expect(await reopened.usageSince(7)).toEqual([usage]);
    expect(await reopened.outages()).toEqual(["x"]);
    expect(await reopened.openOutage({ subject: "x", since: 2 })).toBe(false);
  });
}
