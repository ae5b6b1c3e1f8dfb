import { createSecretKey } from "node:crypto";
import { describe, expect, it } from "vitest";
import { PROBE_HEADER, Probes } from "../../../src/ingress/probes.ts";

const KEY = createSecretKey(Buffer.alloc(32, 1));
const MINUTE_MS = 60_000;

describe("a probe", () => {
  const at = (now: number, key = KEY): Probes => new Probes({ key, clock: { now: () => now } });
  const asHeaders = (nonce: string) => ({ headers: { [PROBE_HEADER]: nonce } });

  it("is known as one by the gateway that sent it, once", () => {
    const probes = at(0);
    const sent = asHeaders(probes.open());
    expect([probes.take(sent), probes.take(sent)]).toEqual([true, false]);
  });

  it("is known as one by every gateway on the store, whichever it reaches", () => {
    const sent = asHeaders(at(MINUTE_MS).open());
    expect(at(0).take(sent)).toBe(true);
    expect(at(4 * MINUTE_MS).take(sent)).toBe(true);
    expect(at(9 * MINUTE_MS).take(sent)).toBe(false);
  });

  it("cannot be sent by anyone without the key", () => {
    const others = at(0, createSecretKey(Buffer.alloc(32, 2))).open();
    const [, random, signature] = at(-10 * MINUTE_MS)
      .open()
      .split(".");
    for (const nonce of ["", ".", "x", "0.x.", others, `0.${random}.${signature}`]) {
      expect(at(0).take(asHeaders(nonce))).toBe(false);
    }
    expect(at(0).take({ headers: {} })).toBe(false);
  });
});
