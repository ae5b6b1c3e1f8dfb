import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { withTimeout } from "../../../../src/dispatch/run/with-timeout.ts";
import { HostError } from "../../../../src/core/host.ts";

const never = (): Promise<string> => new Promise(() => {});

describe("a call of the host", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** What the call comes to, as soon as it comes to anything. */
  function watch(call: Promise<string>, ending: AbortSignal): unknown[] {
    const came: unknown[] = [];
    withTimeout(call, ending).then(
      (result) => came.push(result),
      (error: unknown) => came.push(error),
    );
    return came;
  }

  it("that is answered leaves no timer and no listener behind", async () => {
    const { signal } = new AbortController();
    const add = vi.spyOn(signal, "addEventListener");
    const remove = vi.spyOn(signal, "removeEventListener");
    expect(await withTimeout(Promise.resolve("taken"), signal)).toBe("taken");
    await expect(withTimeout(Promise.reject(new Error("refused")), signal)).rejects.toThrow("refused");
    expect(vi.getTimerCount()).toBe(0);
    expect(add).toHaveBeenCalledTimes(2);
    expect(remove.mock.calls.map(([, listener]) => listener)).toEqual(add.mock.calls.map(([, listener]) => listener));
  });

  it("is given up after a minute without an answer, and may be made again", async () => {
    const came = watch(never(), new AbortController().signal);
    await vi.advanceTimersByTimeAsync(59_999);
    expect(came).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(came).toEqual([new HostError("it did not answer within 60 s", { retryable: true })]);
    expect(came[0]).toMatchObject({ name: "HostError", retryable: true });
  });

  it("is given up half a second after the run was aborted", async () => {
    const ending = new AbortController();
    const came = watch(never(), ending.signal);
    await vi.advanceTimersByTimeAsync(10_000);
    ending.abort();
    await vi.advanceTimersByTimeAsync(499);
    expect(came).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(came).toMatchObject([{ message: "it did not answer before the run was aborted", retryable: true }]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("that is answered just after that is taken all the same", async () => {
    const call = Promise.withResolvers<string>();
    const came = watch(call.promise, AbortSignal.abort());
    await vi.advanceTimersByTimeAsync(400);
    call.resolve("taken");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(came).toEqual(["taken"]);
  });

  it("that fails after it was given up has no effect", async () => {
    const call = Promise.withResolvers<string>();
    const came = watch(call.promise, AbortSignal.abort());
    await vi.advanceTimersByTimeAsync(500);
    call.reject(new Error("too late"));
    await vi.advanceTimersByTimeAsync(1);
    expect(came).toHaveLength(1);
  });
});
