import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import {
  NOT_FETCHED,
  NOT_THERE,
  providerOf,
  readySource,
  sourceOf,
  UNKNOWN_KEY,
  UNKNOWN_KEY_FOR_NOW,
} from "./jwks-bench.ts";
import { portToKeep } from "../../http/wire.ts";
import { eventually, json, silence, startKeyServer, text } from "./key-server.ts";
import type { KeyServer } from "./key-server.ts";
import { keySet, makeKey, signToken } from "./make-token.ts";
import type { ProviderKey } from "./make-token.ts";

let key: ProviderKey;
let newKey: ProviderKey;

beforeAll(async () => {
  key = await makeKey("first");
  newKey = await makeKey("second");
});

afterEach(() => {
  vi.useRealTimers();
});

describe("the first fetch", () => {
  test("it begins at once, and a request waits for it", async () => {
    const server = await startKeyServer(json(keySet(key)));
    const { verify, clock } = sourceOf(`${server.origin}/certs`);
    expect((await verify(await signToken(key, { now: clock.now() }))).ok).toBe(true);
    expect(server.asked).toEqual(["/certs"]);
  });

  test("a request waits for it at most 2 seconds", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { promise } = Promise.withResolvers<never>();
    const { verify } = sourceOf("https://keys.example.com", { fetch: () => promise });
    const settled = vi.fn<(verification: unknown) => void>();
    const verified = verify("token").then(settled);
    await vi.advanceTimersByTimeAsync(1999);
    expect(settled).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    await verified;
    expect(settled).toHaveBeenCalledExactlyOnceWith(NOT_THERE);
  });

  test("a bound on that wait can be set", async () => {
    const server = await startKeyServer(silence);
    const { verify } = sourceOf(server.origin, { waitMs: 20 });
    expect(await verify("token")).toEqual(NOT_THERE);
    expect(await verify("token")).toEqual(NOT_THERE);
    await eventually(() => expect(server.asked.length).toBe(1));
  });

  test("a server that is down at first is asked again until it is there", async () => {
    const gone = await startKeyServer(silence, { port: await portToKeep() });
    await gone.stop();
    const { verify, clock, logger } = sourceOf(gone.origin, { retryMs: 20, waitMs: 15_000 });
    expect(await verify("token")).toEqual(NOT_THERE);
    expect(logger.lines[0]).toEqual([
      "warn",
      { host: `127.0.0.1:${gone.port}`, reason: "it could not be fetched (ECONNREFUSED)", retryMs: 20 },
      NOT_FETCHED,
    ]);
    await startKeyServer(json(keySet(key)), { port: gone.port });
    const token = await signToken(key, { now: clock.now() });
    await eventually(async () => expect((await verify(token)).ok).toBe(true));
  });

  const badAnswers: readonly [string, KeyServer["answer"], string][] = [
    ["an error", text("down", 503), "it answers with status 503"],
    ["a page", text("<html>"), "its answer is no set of keys"],
    ["another JSON", json({ key: 1 }), "its answer is no set of keys"],
    ["null", json(null), "its answer is no set of keys"],
    ["keys that are no objects", json({ keys: ["a"] }), "its answer is no set of keys"],
    ["no keys", json({ keys: [] }), "it has no keys"],
    ["101 keys", json({ keys: Array.from({ length: 101 }, () => ({ kty: "RSA" })) }), "it has more than 100 keys"],
  ];

  test.each(badAnswers)("%s is no set of keys", async (_what, answer, reason) => {
    const server = await startKeyServer(answer);
    const { verify, logger } = sourceOf(`${server.origin}/certs?key=secret`);
    expect(await verify("token")).toEqual(NOT_THERE);
    expect(logger.lines).toEqual([["warn", { host: `127.0.0.1:${server.port}`, reason, retryMs: 1000 }, NOT_FETCHED]]);
  });

  test("100 keys are a set of keys", async () => {
    const others = Array.from({ length: 99 }, (_, at) => ({ ...newKey.jwk, kid: `other-${at}` }));
    const server = await startKeyServer(json({ keys: [...others, key.jwk] }));
    const { verify, clock } = sourceOf(server.origin);
    expect((await verify(await signToken(key, { now: clock.now() }))).ok).toBe(true);
  });
});

describe("refreshing", () => {
  test.each([
    ["no header", undefined, 600_000],
    ["no max-age", "public, no-cache", 600_000],
    ["another directive that ends alike", "s-max-age=120", 600_000],
    ["a max-age", "public, max-age=120, must-revalidate", 120_000],
    ["a max-age alone", "max-age=120", 120_000],
    ["a max-age without a space before it", "public,max-age=120", 120_000],
    ["a max-age in capitals and quotes", 'Max-Age="120"', 120_000],
    ["a short max-age", "max-age=1", 60_000],
    ["a long max-age", "max-age=86400", 3_600_000],
  ])("with %s the keys are fetched again when they may be old, not before", async (_what, cacheControl, afterMs) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const headers = cacheControl === undefined ? {} : { "cache-control": cacheControl };
    const provider = providerOf(() => keySet(key), headers as Record<string, string>);
    sourceOf("https://keys.example.com", { fetch: provider.fetch });
    await vi.advanceTimersByTimeAsync(afterMs - 1);
    expect(provider.fetches).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(provider.fetches).toBe(2);
    await vi.advanceTimersByTimeAsync(afterMs);
    expect(provider.fetches).toBe(3);
  });

  test("a failed fetch is tried again after 1, 2, 4 ... seconds, up to 5 minutes; a success resets the delay", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    let isUp = false;
    const provider = providerOf(() => (isUp ? keySet(key) : undefined));
    const { logger } = sourceOf("https://keys.example.com", { fetch: provider.fetch });
    await vi.advanceTimersByTimeAsync(0);
    for (let failures = 1; failures <= 12; failures++) {
      expect(provider.fetches).toBe(failures);
      const expectedMs = Math.min(1000 * 2 ** (failures - 1), 300_000);
      expect(logger.lines.at(-1)![1]).toEqual({ host: "keys.example.com", reason: "down", retryMs: expectedMs });
      await vi.advanceTimersByTimeAsync(expectedMs - 1);
      expect(provider.fetches).toBe(failures);
      await vi.advanceTimersByTimeAsync(1);
    }
    isUp = true;
    await vi.advanceTimersByTimeAsync(300_000);
    isUp = false;
    await vi.advanceTimersByTimeAsync(600_000);
    expect(logger.lines.at(-1)![1]).toMatchObject({ retryMs: 1000 });
  });

  test("the timer does not keep the process running", async () => {
    const spy = vi.spyOn(globalThis, "setTimeout");
    const provider = providerOf(() => keySet(key));
    const { verify } = sourceOf("https://keys.example.com", { fetch: provider.fetch });
    await verify("token");
    const timers = spy.mock.results.map(({ value }) => value as NodeJS.Timeout);
    const refresh = timers[spy.mock.calls.findIndex(([, delayMs]) => delayMs === 600_000)]!;
    expect(refresh.hasRef()).toBe(false);
  });

  test("a key that replaced another is taken in the background, and the old one is no longer believed", async () => {
    const { server, verify, clock } = await readySource([key], { minRefreshMs: 0, refreshMs: 20 });
    server.answer = json(keySet(newKey), { "cache-control": "max-age=3600" });
    const token = await signToken(newKey, { now: clock.now() });
    await eventually(async () => expect((await verify(token)).ok).toBe(true));
    expect((await verify(await signToken(key, { now: clock.now() }))).ok).toBe(false);
  });

  test("keys stay good while the provider is down, for a day", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    let isUp = true;
    const provider = providerOf(() => (isUp ? keySet(key) : undefined));
    const { verify, clock } = sourceOf("https://keys.example.com", { fetch: provider.fetch });
    await vi.advanceTimersByTimeAsync(0);
    isUp = false;
    const dayLater = clock.now() + 86_400_000;
    const token = await signToken(key, { now: dayLater });
    await vi.advanceTimersByTimeAsync(600_000);
    clock.nowMs = dayLater;
    expect((await verify(token)).ok).toBe(true);
    clock.nowMs += 1;
    expect(await verify(token)).toEqual(NOT_THERE);
  });

  test("a request that finds keys too old makes the next fetch come sooner", async () => {
    const provider = providerOf(() => keySet(key));
    const { verify, clock } = sourceOf("https://keys.example.com", { fetch: provider.fetch });
    await verify("");
    clock.nowMs += 86_400_001;
    const token = await signToken(key, { now: clock.now() });
    expect(await verify(token)).toEqual(NOT_THERE);
    await eventually(async () => expect((await verify(token)).ok).toBe(true));
    expect(provider.fetches).toBe(2);
  });

  test("a request that finds no keys makes the next fetch come sooner, once in 30 seconds", async () => {
    const provider = providerOf(() => undefined);
    const { verify, clock } = sourceOf("https://keys.example.com", { fetch: provider.fetch });
    await verify("");
    clock.nowMs += 29_999;
    expect(await verify("")).toEqual(NOT_THERE);
    expect(provider.fetches).toBe(1);
    clock.nowMs += 1;
    expect(await verify("")).toEqual(NOT_THERE);
    expect(await verify("")).toEqual(NOT_THERE);
    expect(provider.fetches).toBe(2);
  });
});

describe("tokens of a key that is not known", () => {
  test("one makes the keys be fetched in the background, and the sender may try again", async () => {
    const { server, verify, clock } = await readySource([key]);
    server.answer = json(keySet(key, newKey));
    const token = await signToken(newKey, { now: clock.now() });
    clock.nowMs += 30_000;
    expect(await verify(token)).toEqual(UNKNOWN_KEY_FOR_NOW);
    await eventually(async () => expect((await verify(token)).ok).toBe(true));
    expect(server.asked.length).toBe(2);
  });

  test("many make one fetch in 30 seconds, and are refused in between", async () => {
    const { server, verify, clock } = await readySource([key]);
    const token = await signToken(newKey, { now: clock.now() });
    clock.nowMs += 29_999;
    expect(await verify(token)).toEqual(UNKNOWN_KEY);
    expect(server.asked.length).toBe(1);
    clock.nowMs += 1;
    expect(await Promise.all([verify(token), verify(token), verify(token)])).toEqual([
      UNKNOWN_KEY_FOR_NOW,
      UNKNOWN_KEY_FOR_NOW,
      UNKNOWN_KEY_FOR_NOW,
    ]);
    await eventually(async () => expect(await verify(token)).toEqual(UNKNOWN_KEY));
    expect(server.asked.length).toBe(2);
    clock.nowMs += 29_999;
    expect(await verify(token)).toEqual(UNKNOWN_KEY);
    clock.nowMs += 1;
    expect(await verify(token)).toEqual(UNKNOWN_KEY_FOR_NOW);
  });

  test("one makes the keys be fetched also when the clock was set back since the last fetch", async () => {
    const { server, verify, clock } = await readySource([key]);
    server.answer = json(keySet(key, newKey));
    clock.nowMs -= 3_600_000;
    const token = await signToken(newKey, { now: clock.now() });
    expect(await verify(token)).toEqual(UNKNOWN_KEY_FOR_NOW);
    await eventually(async () => expect((await verify(token)).ok).toBe(true));
  });

  test("a request does not wait for that fetch", async () => {
    const { server, verify, clock } = await readySource([key], { waitMs: 60_000 });
    server.answer = silence;
    clock.nowMs += 30_000;
    expect(await verify(await signToken(newKey, { now: clock.now() }))).toEqual(UNKNOWN_KEY_FOR_NOW);
    expect((await verify(await signToken(key, { now: clock.now() }))).ok).toBe(true);
  });

  test("a fetch in progress is not started a second time, however long it takes", async () => {
    const { server, verify, clock } = await readySource([key]);
    server.answer = silence;
    const token = await signToken(newKey, { now: clock.now() });
    for (let again = 0; again < 5; again++) {
      clock.nowMs += 30_000;
      expect(await verify(token)).toEqual(UNKNOWN_KEY_FOR_NOW);
    }
    await eventually(() => expect(server.asked.length).toBe(2));
  });

  test("such a fetch puts off the one of the timer", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const provider = providerOf(() => keySet(key));
    const { verify, clock } = sourceOf("https://keys.example.com", { fetch: provider.fetch });
    await vi.advanceTimersByTimeAsync(599_000);
    clock.nowMs += 599_000;
    await verify(await signToken(newKey, { now: clock.now() }));
    await vi.advanceTimersByTimeAsync(599_999);
    expect(provider.fetches).toBe(2);
    await vi.advanceTimersByTimeAsync(1);
    expect(provider.fetches).toBe(3);
  });

  test("other wrong tokens make no fetch", async () => {
    const { server, verify, clock } = await readySource([key]);
    clock.nowMs += 60_000;
    await verify("not a token");
    await verify(await signToken(key, { now: clock.now(), claims: { aud: "other" } }));
    await verify(await signToken({ ...newKey, kid: key.kid }, { now: clock.now() }));
    expect(await verify(await signToken(key, { now: clock.now() }))).toMatchObject({ ok: true });
    expect(server.asked.length).toBe(1);
  });
});

describe("closing", () => {
  test("no more keys are fetched, and those at hand still verify", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const provider = providerOf(() => keySet(key));
    const { verify, clock, close } = sourceOf("https://keys.example.com", { fetch: provider.fetch });
    await vi.advanceTimersByTimeAsync(0);
    expect(provider.signals.map(({ aborted }) => aborted)).toEqual([false]);
    close();
    expect(provider.signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(vi.getTimerCount()).toBe(0);
    clock.nowMs += 60_000;
    expect(await verify(await signToken(newKey, { now: clock.now() }))).toEqual(UNKNOWN_KEY);
    expect((await verify(await signToken(key, { now: clock.now() }))).ok).toBe(true);
    expect(provider.fetches).toBe(1);
  });

  test("a fetch in progress is given up silently and not tried again", async () => {
    const server = await startKeyServer(silence);
    const { verify, close, logger } = sourceOf(server.origin, { retryMs: 1 });
    const verified = verify("token");
    await eventually(() => expect(server.asked.length).toBe(1));
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    close();
    expect(await verified).toEqual(NOT_THERE);
    expect(vi.getTimerCount()).toBe(0);
    expect(logger.lines).toEqual([]);
  });
});
