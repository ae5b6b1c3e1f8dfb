import { describe, expect, it, vi } from "vitest";
import type { Wait } from "../../../../src/core/wait.ts";
import { WaitBook } from "../../../../src/ingress/waits/wait-book.ts";
import { storedWait } from "../../../../src/ingress/waits/wait-terms.ts";
import type { StoredWait } from "../../../../src/storage/wait-store.ts";
import { newWait } from "./new-wait.ts";

const BOUNDS = { total: 100, ofSession: 2 };
const wait = (id: string, changes: Partial<Wait> = {}): Wait =>
  newWait({ id, sessionKey: `agent:main:hook:${id}`, all: [{ hook: id }], ...changes });
const empty = () => new WaitBook({ waits: () => Promise.resolve({ waits: [], mark: 0 }) });
const add = (book: WaitBook, added: Wait): void => book.changed({ changes: [], added: storedWait(added) });

describe("a further wait", () => {
  it("has no room where the session or all have as many as may be, until one ends", () => {
    const book = empty();
    const session = { sessionKey: "agent:main:hook:s" };
    for (const id of ["a", "b"]) {
      expect(book.problem(wait(id, session), BOUNDS)).toBeUndefined();
      add(book, wait(id, session));
    }
    expect(book.problem(wait("c", session), BOUNDS)).toMatch(/^The session has 2 waits already/u);
    expect(book.problem(wait("c"), BOUNDS)).toBeUndefined();
    expect(book.problem(wait("c"), { total: 2, ofSession: 2 })).toMatch(/^2 waits are open already/u);
    book.changed({ changes: [{ id: "b", version: 1, content: null }] });
    expect(book.problem(wait("c", session), BOUNDS)).toBeUndefined();
    expect(book.problem(wait("c"), { total: 2, ofSession: 2 })).toBeUndefined();
  });

  it("has no room beside 16 that are alike, or where they differ in 32 ways already", () => {
    const book = empty();
    for (let at = 0; at < 16; at++) add(book, wait(`a${at}`, { all: [{ hook: "ci" }] }));
    expect(book.problem(wait("b", { all: [{ hook: "ci" }] }), BOUNDS)).toMatch(/^16 waits are for the same event/u);
    for (let at = 0; at < 32; at++) add(book, wait(`e${at}`, { all: [{ hook: "pr", event: `e${at}` }] }));
    const other = wait("b", { all: [{ hook: "pr", event: "another" }] });
    expect(book.problem(other, BOUNDS)).toMatch(/^Waits for "pr" differ in event and path/u);
    expect(book.problem(wait("b", { all: [{ hook: "pr", event: "E3" }] }), BOUNDS)).toBeUndefined();
  });
});

it("a further wait takes the place of one that the same call ends, and of none that it only changes", () => {
  const book = empty();
  const session = { sessionKey: "agent:main:hook:s" };
  for (let at = 0; at < 16; at++) add(book, wait(`a${at}`, { ...session, all: [{ hook: "ci" }] }));
  for (let at = 0; at < 32; at++) add(book, wait(`e${at}`, { all: [{ hook: "pr", event: `e${at}` }] }));
  const full = { total: 48, ofSession: 16 };
  const wide = { total: 100, ofSession: 100 };
  const next = wait("b", { ...session, all: [{ hook: "ci" }] });
  const other = wait("b", { all: [{ hook: "pr", event: "another" }] });
  const ends = (id: string) => [{ id, version: 1, content: null }];
  const changes = [{ id: "a0", version: 1, content: JSON.stringify(wait("a0")) }];
  expect(book.problem(next, full, ends("a0"))).toBeUndefined();
  expect(book.problem(other, wide, ends("e0"))).toBeUndefined();
  for (const none of [[], changes, ends("unknown")]) {
    expect(book.problem(next, full, none)).toMatch(/^48 waits are open already/u);
    expect(book.problem(next, { ...full, total: 100 }, none)).toMatch(/^The session has 16 waits already/u);
    expect(book.problem(next, wide, none)).toMatch(/^16 waits are for the same event/u);
    expect(book.problem(other, wide, none)).toMatch(/differ in event and path/u);
  }
  expect(book.problem(next, { ...full, total: 100 }, ends("e0"))).toMatch(/^The session has 16 waits already/u);
});

it("a wait that a call adds while all are read is kept", async () => {
  let answer: ((waits: readonly StoredWait[]) => void) | undefined;
  const book = new WaitBook({
    waits: () => new Promise((resolve) => (answer = (waits) => resolve({ waits, mark: 0 }))),
  });
  const reading = book.refresh({ all: true });
  await Promise.resolve();
  add(book, wait("a"));
  answer!([]);
  await reading;
  expect(book.get("a")?.version).toBe(1);
  const next = book.refresh({ all: true });
  await Promise.resolve();
  answer!([]);
  await next;
  expect(book.get("a")).toBeUndefined();
});

it("nothing is kept of a wait that has ended: a store of one gateway is hardly read again", () => {
  const adds = vi.spyOn(Set.prototype, "add");
  const puts = vi.spyOn(Map.prototype, "set");
  const book = empty();
  add(book, wait("a"));
  const holders = [...adds.mock.contexts, ...puts.mock.contexts] as (Set<unknown> | Map<unknown, unknown>)[];
  adds.mockRestore();
  puts.mockRestore();
  const holding = (): number => holders.filter((holder) => holder.has("a")).length;
  expect(holding()).toBeGreaterThan(0);
  book.changed({ changes: [{ id: "a", version: 1, content: null }] });
  expect(holding()).toBe(0);
});
