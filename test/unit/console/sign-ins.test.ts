import { describe, expect, it } from "vitest";
import { SignIns } from "../../../src/console/sign-ins.ts";

function signIns(): { signIns: SignIns; clock: { time: number }; token: { generation: number } } {
  const clock = { time: 1_000_000 };
  const token = { generation: 0 };
  return {
    clock,
    token,
    signIns: new SignIns({ clock: { now: () => clock.time }, generation: () => token.generation }),
  };
}

describe("SignIns", () => {
  it("lasts for 12 hours after the last use", () => {
    const { signIns: all, clock } = signIns();
    const id = all.begin();
    clock.time += 12 * 3_600_000;
    expect(all.has(id)).toBe(true);
    clock.time += 12 * 3_600_000;
    expect(all.has(id)).toBe(true);
    clock.time += 12 * 3_600_000 + 1;
    expect(all.has(id)).toBe(false);
  });

  it("ends with the token, with a sign-out, and knows no other cookie", () => {
    const { signIns: all, token } = signIns();
    const [first, second] = [all.begin(), all.begin()];
    expect([all.has(first), all.has(""), all.has(`${first}x`)]).toEqual([true, false, false]);
    all.end(first);
    expect([all.has(first), all.has(second)]).toEqual([false, true]);
    token.generation++;
    expect(all.has(second)).toBe(false);
  });

  it("keeps the 100 that were used last", () => {
    const { signIns: all } = signIns();
    const ids = Array.from({ length: 100 }, () => all.begin());
    expect(all.has(ids[0]!)).toBe(true);
    all.begin();
    expect([all.has(ids[0]!), all.has(ids[1]!)]).toEqual([true, false]);
  });

  it("takes a link once, within 60 seconds, and keeps 20", () => {
    const { signIns: all, clock } = signIns();
    const link = all.createLink();
    expect([all.takeLink(link), all.takeLink(link)]).toEqual([true, false]);
    const late = all.createLink();
    clock.time += 60_000;
    expect(all.takeLink(late)).toBe(false);
    const links = Array.from({ length: 21 }, () => all.createLink());
    expect([all.takeLink(links[0]!), all.takeLink(links[1]!)]).toEqual([false, true]);
  });
});
