import { describe, expect, it } from "vitest";
import { telegram } from "../../../../src/presets/senders/telegram.ts";
import { context, GOOD_SECRET, PRESETS, read, refusalsOf } from "../hooks-context.ts";

const presets = new Map([...PRESETS, ["telegram", telegram]]);
const gateway = { secrets: [], loopbackOnly: true, trustedProxies: [], takesOwnerMessages: true };
const around = context({ presets, gateway });
const owner = { preset: "telegram", secret: GOOD_SECRET, chat: { from: [" 5001 "] } };

describe("a chat of the owner", () => {
  it("makes wakes of its messages, and answers on the channel with the preset's name", () => {
    const { config, warnings } = read({ mappings: [owner] }, around);
    expect(config.mappings[0]).toMatchObject({
      action: "wake",
      wakeMode: "now",
      chat: { from: new Set(["5001"]), channel: "telegram" },
    });
    expect(warnings).toEqual([]);
  });

  it("is taken in the block of the preset", () => {
    const block = {
      presets: ["telegram"],
      telegram: { secret: GOOD_SECRET, chat: { from: ["1"], channel: "console" } },
    };
    expect(read(block, around).config.mappings[0]?.chat?.channel).toBe("console");
  });

  it.each([
    [{ chat: { from: [] } }, "hooks.mappings[0].chat.from: is empty"],
    [{ chat: { from: ["1"], channel: "Last" } }, "must be a channel by its name"],
    [{ chat: { from: ["1"], channel: "slack" } }, '"slack" is not a channel of this gateway'],
    [{ preset: "github" }, "hooks.mappings[0].chat: cannot be used: the preset github knows no messages"],
    [{ preset: undefined, match: { path: "x" } }, "hooks.mappings[0].chat: has no effect without preset"],
    [{ transform: { module: "x.js" } }, "hooks.mappings[0].transform: cannot be used together with chat"],
    [{ action: "agent" }, "hooks.mappings[0].action: cannot be used together with chat"],
    [{ sessionKey: "x" }, "hooks.mappings[0].sessionKey: cannot be used together with chat"],
    [{ wakeMode: "next-heartbeat" }, "hooks.mappings[0].wakeMode: cannot be used together with chat"],
  ])("%j is refused", (changes, message) => {
    const lines = refusalsOf({ mappings: [{ ...owner, ...changes }] }, around);
    expect(lines.join("\n")).toContain(message);
  });

  it("is refused in a host that has chats of its own", () => {
    expect(refusalsOf({ mappings: [owner] }, context({ presets }))).toEqual([
      "hooks.mappings[0].chat: is for gateways without chats of their own; connect the chat to the host",
    ]);
  });
});
