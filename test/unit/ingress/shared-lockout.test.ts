import pino from "pino";
import { afterEach, expect, it } from "vitest";
import { Lockout } from "../../../src/auth/lockout.ts";
import { SharedLockout } from "../../../src/ingress/shared-lockout.ts";
import type { Failures } from "../../../src/storage/shared-store.ts";

const config = { failures: 3, windowMs: 60_000, lockMs: 60_000, maxClients: 100 };
let shared: SharedLockout | undefined;
afterEach(() => shared?.stop());

function exchangeOver(store: (own: readonly Failures[]) => Promise<readonly Failures[]>) {
  const lockout = new Lockout(config, { clock: { now: () => 1_000_000 } });
  shared = new SharedLockout({
    store: { exchangeFailures: store },
    lockout: () => lockout,
    logger: pino({ level: "silent" }),
  });
  return { lockout, shared };
}

it("tells others what failed here, and counts what failed there", async () => {
  const told: (readonly Failures[])[] = [];
  const own = exchangeOver(async (failures) => {
    told.push(failures);
    return [{ address: "192.0.2.9", times: 3 }];
  });
  own.lockout.fail("192.0.2.1");
  await own.shared.exchange();
  expect(told).toEqual([[{ address: "192.0.2.1", times: 1 }]]);
  expect(own.lockout.fail("192.0.2.9")).toBe(60);
});

it("keeps what the store did not take for the next time", async () => {
  let isDown = true;
  const told: (readonly Failures[])[] = [];
  const own = exchangeOver(async (failures) => {
    if (isDown) throw new Error("down");
    told.push(failures);
    return [];
  });
  own.lockout.fail("192.0.2.1");
  await own.shared.exchange();
  isDown = false;
  own.lockout.fail("192.0.2.2");
  await own.shared.exchange();
  await own.shared.exchange();
  expect(told.map((failures) => failures.map(({ address }) => address))).toEqual([["192.0.2.1", "192.0.2.2"], []]);
});
