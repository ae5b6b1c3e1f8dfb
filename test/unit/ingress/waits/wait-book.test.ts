import { describe, expect, it } from "vitest";
import type { Wait } from "../../../../src/core/wait.ts";
import { WaitBook } from "../../../../src/ingress/waits/wait-book.ts";
import { storedWait } from "../../../../src/ingress/waits/wait-terms.ts";
import type { StoredWait } from "../../../../src/storage/wait-store.ts";
import { newWait } from "./new-wait.ts";

const BOUNDS = { total: 100, ofSession: 3 };
const wait = (id: string, changes: Partial<Wait> = {}): Wait =>
  newWait({ id, sessionKey: `agent:main:hook:${id}`, all: [{ hook: id }], ...changes });
const empty = () => new WaitBook({ waits: () => Promise.resolve({ waits: [], mark: 0 }) });

describe("the places of waits that calls make", () => {
  it("are counted in the session and in all until they are released, and with the wait that was stored", () => {
    const book = empty();
    const session = { sessionKey: "agent:main:hook:s" };
    const all = ["a", "b", "c", "d"].map((id) => wait(id, session));
    expect(all.map((each) => book.reserve(each, BOUNDS))).toEqual([
      undefined,
      undefined,
      undefined,
      "The session has 3 waits already (hooks.waits.maxPerSession).",
    ]);
    book.release(all[0]!);
    book.changed({ changes: [], added: [storedWait(all[1]!)] });
    book.release(all[1]!);
    expect(book.reserve(all[3]!, BOUNDS)).toBeUndefined();
    expect(book.reserve(wait("e"), { total: 3, ofSession: 3 })).toBe("3 waits are open already (hooks.waits.max).");
    book.changed({ changes: [{ id: "b", version: 1, content: null }] });
    expect(book.reserve(wait("e"), { total: 3, ofSession: 3 })).toBeUndefined();
  });

  it("are bounded for waits that are alike, those under way included", () => {
    const book = empty();
    const alike = (at: number) => wait(`w${at}`, { all: [{ hook: "ci" }] });
    for (let at = 0; at < 16; at++) {
      expect(book.reserve(alike(at), BOUNDS)).toBeUndefined();
      if (at % 2 === 0) continue;
      book.changed({ changes: [], added: [storedWait(alike(at))] });
      book.release(alike(at));
    }
    expect(book.reserve(alike(16), BOUNDS)).toMatch(/^16 waits are for the same event of "ci" already/u);
    book.release(alike(0));
    expect(book.reserve(alike(16), BOUNDS)).toBeUndefined();
  });

  it("are bounded for events that differ in form, those under way included", () => {
    const book = empty();
    const form = (at: number) => wait(`w${at}`, { all: [{ hook: "ci", event: `e${at}` }] });
    for (let at = 0; at < 32; at++) {
      expect(book.reserve(form(at), BOUNDS)).toBeUndefined();
      if (at % 2 === 1) book.changed({ changes: [], added: [storedWait(form(at))] });
      if (at % 2 === 1) book.release(form(at));
    }
    expect(book.reserve(form(32), BOUNDS)).toMatch(/^Waits for "ci" differ in event and path/u);
    expect(book.reserve(wait("again", { all: [{ hook: "ci", event: "E3" }] }), BOUNDS)).toBeUndefined();
  });
});

it("a wait that a call adds while all are read is kept", async () => {
  let answer: ((waits: readonly StoredWait[]) => void) | undefined;
  const book = new WaitBook({
    waits: () => new Promise((resolve) => (answer = (waits) => resolve({ waits, mark: 0 }))),
  });
  const reading = book.refresh({ all: true });
  await Promise.resolve();
  book.changed({ changes: [], added: [storedWait(wait("a"))] });
  answer!([]);
  await reading;
  expect(book.get("a")?.version).toBe(1);
  const next = book.refresh({ all: true });
  await Promise.resolve();
  answer!([]);
  await next;
  expect(book.get("a")).toBeUndefined();
});
