import { describe, expect, it } from "vitest";
import { resolveTarget } from "../../../src/policy/target.ts";
import { channelsOf } from "./gateway-parts.ts";
import type { GatewayState } from "./gateway-parts.ts";

const TALKED: GatewayState = { last: { main: { channel: "telegram", to: "42" } } };

function target(state: GatewayState, wanted: { channel?: string; to?: string; agentId?: string } = {}) {
  const { channel = "last", to, agentId = "main" } = wanted;
  return resolveTarget(channelsOf(state), { channel, to, agentId });
}

describe("the channel `last`", () => {
  it("spec 2.3: is the channel and recipient that the main session last talked to", async () => {
    expect(await target(TALKED)).toEqual({ channel: "telegram", to: "42" });
  });

  it("is the account and the thread of that conversation as well, for its recipient alone", async () => {
    const place = { channel: "telegram", to: "42", accountId: "work", threadId: 7 };
    const state: GatewayState = { last: { main: place } };
    expect(await target(state)).toEqual(place);
    expect(await target(state, { to: "42" })).toEqual(place);
    expect(await target(state, { to: "43" })).toEqual({ channel: "telegram", to: "43" });
  });

  it("is that of the agent that runs, not of another one", async () => {
    const last = { main: { channel: "telegram", to: "42" }, ops: { channel: "console", to: "desk" } };
    expect(await target({ last }, { agentId: "ops" })).toEqual({ channel: "console", to: "desk" });
    expect(await target(TALKED, { agentId: "ops" })).toEqual({ channel: "console", to: "owner" });
  });

  it("spec 2.3: falls back to the first-listed channel when there was no conversation", async () => {
    expect(await target({})).toEqual({ channel: "console", to: "owner" });
    expect(await target({}, { to: "desk" })).toEqual({ channel: "console", to: "desk" });
  });

  it("falls back to the first-listed channel when the last one is gone", async () => {
    expect(await target({ last: { main: { channel: "gone", to: "42" } } })).toEqual({
      channel: "console",
      to: "owner",
    });
  });

  it("spec 2.3: takes the recipient that was named, on the last channel", async () => {
    expect(await target(TALKED, { to: "77" })).toEqual({ channel: "telegram", to: "77" });
  });

  it("keeps the reply, and says what to set, when the first channel knows no recipient", async () => {
    expect(await target({ channels: [{ id: "telegram" }] })).toEqual({
      unresolved: 'There is no recipient on channel "telegram": set "to" in the call or the mapping.',
    });
  });

  it("keeps the reply when the gateway has no channel at all, even for a named recipient", async () => {
    const unresolved = { unresolved: "The gateway has no channel." };
    expect(await target({ channels: [] })).toEqual(unresolved);
    expect(await target({ channels: [] }, { to: "42" })).toEqual(unresolved);
    expect(await target({ ...TALKED, channels: [] })).toEqual(unresolved);
  });

  it("may be written in any case", async () => {
    expect(await target(TALKED, { channel: "LAST" })).toEqual({ channel: "telegram", to: "42" });
  });
});

describe("a named channel", () => {
  it("spec 2.3: takes the recipient that was named", async () => {
    expect(await target(TALKED, { channel: "telegram", to: "77" })).toEqual({ channel: "telegram", to: "77" });
    expect(await target(TALKED, { channel: "console", to: "desk" })).toEqual({ channel: "console", to: "desk" });
  });

  it("spec 2.3: goes to the last recipient in the main session when none is named", async () => {
    expect(await target(TALKED, { channel: "telegram" })).toEqual({ channel: "telegram", to: "42" });
  });

  it("goes to its default recipient when the last conversation was on another channel", async () => {
    expect(await target(TALKED, { channel: "console" })).toEqual({ channel: "console", to: "owner" });
  });

  it("never goes to the recipient of another channel: an id of one is somebody else's on the next", async () => {
    const last = { main: { channel: "console", to: "42" } };
    expect(await target({ last }, { channel: "telegram" })).toEqual({
      unresolved: 'There is no recipient on channel "telegram": set "to" in the call or the mapping.',
    });
  });

  it("may be written in any case, whatever case the gateway writes it in", async () => {
    expect(await target({}, { channel: "Telegram", to: "7" })).toEqual({ channel: "telegram", to: "7" });
    const channels = [{ id: "OpsRoom", defaultTo: "desk" }];
    expect(await target({ channels }, { channel: "OpsRoom" })).toEqual({ channel: "OpsRoom", to: "desk" });
    expect(await target({ channels }, { channel: "opsroom" })).toEqual({ channel: "OpsRoom", to: "desk" });
  });

  it.each(["signal", "telegram2", "__proto__", "tele gram"])(
    "spec 7: is refused as an invalid payload when there is none of the name %j, listing those there are",
    async (channel) => {
      expect(await target(TALKED, { channel, to: "7" })).toEqual({
        refused: "UNKNOWN_CHANNEL",
        message: "channel must be one of last, console, telegram.",
        retryAfterSeconds: undefined,
      });
    },
  );

  it("is refused on a gateway without channels, where only `last` is left to say", async () => {
    expect(await target({ channels: [] }, { channel: "telegram" })).toMatchObject({
      message: "channel must be one of last.",
    });
  });
});

it("refuses the call with 503 while the host cannot say whom the last conversation was with", async () => {
  const channels = { ...channelsOf(TALKED), lastRoute: () => Promise.reject(new Error("the database is away")) };
  const refused = await resolveTarget(channels, { channel: "last", to: undefined, agentId: "main" });
  expect(refused).toMatchObject({ refused: "STORE_UNAVAILABLE" });
});
