import { describe, expect, it } from "vitest";
import type { HooksContext } from "../../../../src/config/read-hooks.ts";
import { discordEvents } from "../../../../src/presets/senders/discord/discord-events.ts";
import { discordInteractions } from "../../../../src/presets/senders/discord/discord-interactions.ts";
import { homeAssistant } from "../../../../src/presets/senders/home-assistant.ts";
import { intercom } from "../../../../src/presets/senders/intercom.ts";
import { meta } from "../../../../src/presets/senders/meta/meta.ts";
import { slack } from "../../../../src/presets/senders/slack/slack.ts";
import { telegram } from "../../../../src/presets/senders/telegram.ts";
import { twilio } from "../../../../src/presets/senders/twilio.ts";
import { x } from "../../../../src/presets/senders/x.ts";
import { zendesk } from "../../../../src/presets/senders/zendesk.ts";
import { zoom } from "../../../../src/presets/senders/zoom.ts";
import { context, GOOD_SECRET, read, refusalsOf } from "../../config/hooks-context.ts";
import { ed25519Pair } from "../ed25519-pair.ts";

const PRESETS = [
  discordEvents,
  discordInteractions,
  homeAssistant,
  intercom,
  meta,
  slack,
  telegram,
  twilio,
  x,
  zendesk,
  zoom,
];
const AROUND: HooksContext = context({ presets: new Map(PRESETS.map((preset) => [preset.name, preset])) });
const PUBLIC_KEY = ed25519Pair().publicHex;

/** All that a user writes of a preset. */
const BLOCKS: Readonly<Record<string, object>> = {
  "discord-events": { secret: PUBLIC_KEY },
  "discord-interactions": { secret: PUBLIC_KEY },
  meta: { secret: GOOD_SECRET, verifyToken: "invented-verify-token" },
};
const MORE: Readonly<Record<string, object>> = { twilio: { publicUrl: "https://gateway.example.com" } };
const blockOf = (name: string) => ({ presets: [name], [name]: BLOCKS[name] ?? { secret: GOOD_SECRET }, ...MORE[name] });

describe("the configuration of the messaging presets", () => {
  it.each(PRESETS.map(({ name }) => name))("turns %s on with hardly more than its secret", (name) => {
    const { config, warnings } = read(blockOf(name), AROUND);
    expect(config.mappings.concat()).toContainEqual(expect.objectContaining({ preset: name }));
    expect(warnings).toEqual([]);
  });

  it.each(PRESETS.map(({ name }) => name))("does not turn %s on without its secret", (name) => {
    const { secret: _, ...block } = { secret: "", ...BLOCKS[name] };
    expect(refusalsOf({ ...blockOf(name), [name]: block }, AROUND).join("\n")).toContain(`hooks.${name}`);
  });

  it.each([
    ["slack", "8f742231b10e8888abcd99yyyzzz85a5"],
    ["zendesk", "dGhpc19zZWNyZXRfaXNfZm9yX3Rlc3Rpbmdfb25seQ=="],
  ])("refuses the secret of the documentation of %s", (name, secret) => {
    expect(refusalsOf({ presets: [name], [name]: { secret } }, AROUND)).toEqual([
      expect.stringContaining("of a published example"),
    ]);
  });

  it("wants the verify token of meta", () => {
    expect(refusalsOf({ presets: ["meta"], meta: { secret: GOOD_SECRET } }, AROUND)).toEqual([
      expect.stringContaining("hooks.meta.verifyToken: is required"),
    ]);
  });

  it("wants the public URL for twilio, which signs it", () => {
    expect(refusalsOf({ presets: ["twilio"], twilio: { secret: GOOD_SECRET } }, AROUND)).toEqual([
      expect.stringContaining("hooks.publicUrl: is required"),
    ]);
  });
});
