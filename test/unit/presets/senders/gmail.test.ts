import { describe, expect, it } from "vitest";
import type { GmailConfig } from "../../../../src/config/gmail.ts";
import type { MappingConfig } from "../../../../src/config/mapping/schema.ts";
import type { AgentAction } from "../../../../src/core/delivery.ts";
import type { AgentSpec } from "../../../../src/core/run.ts";
import { isRefusal } from "../../../../src/core/errors.ts";
import { compileMapping } from "../../../../src/mapping/compile-mapping.ts";
import { fanOut } from "../../../../src/mapping/fan-out.ts";
import { renderAction } from "../../../../src/mapping/render-action.ts";
import { applyPolicy } from "../../../../src/ingress/stages/policy.ts";
import { gmail } from "../../../../src/presets/senders/google/gmail.ts";
import { read } from "../../config/hooks-context.ts";
import { requestWith } from "../../mapping/mappings.ts";
import { gatewayOf } from "../../policy/gateway-parts.ts";

function mappingOf(changes: Partial<GmailConfig> = {}): MappingConfig {
  const [mapping, ...more] = read({ presets: ["gmail"], gmail: changes }).config.mappings;
  expect(more).toEqual([]);
  return mapping!;
}

const mail = (id: unknown, subject = "Hello"): object => ({
  id,
  from: "Ada <ada@example.org>",
  subject,
  snippet: "I wanted to ask",
  body: "I wanted to ask you something.\nAda",
});

/** The actions that a notification is turned into. */
function actionsOf(payload: object, changes?: Partial<GmailConfig>): AgentAction[] {
  const mapping = compileMapping(mappingOf(changes), undefined, gmail);
  const contexts = fanOut(requestWith(payload, { path: "gmail" }), mapping.forEach, 200);
  if (isRefusal(contexts)) throw new Error(contexts.message);
  return contexts.map((context) => renderAction(mapping, context) as AgentAction);
}

/** The session in which a mail is read, under a configuration that says nothing of session keys. */
async function sessionOf(id: unknown): Promise<string> {
  const { ownSessionPrefix } = mappingOf();
  const [action] = actionsOf({ messages: [mail(id)] });
  const origin = { contentSource: "Email", interrupted: "rerun", ownSessionPrefix } as const;
  const run = await applyPolicy(gatewayOf(), read({ presets: ["gmail"] }).config, action!, origin);
  return (run as AgentSpec).sessionKey;
}

describe("the preset gmail", () => {
  it("turns a mail into a message of four lines", () => {
    const [action] = actionsOf({ messages: [{ ...mail("18c"), body: "Just one line." }] });
    expect(action).toMatchObject({
      kind: "agent",
      name: "Gmail",
      message: "New email from Ada <ada@example.org>\nSubject: Hello\nI wanted to ask\nJust one line.",
      wakeMode: "now",
      deliver: true,
      channel: "last",
      allowUnsafeExternalContent: false,
    });
  });

  it("makes a run of each mail of a notification, in order", () => {
    const actions = actionsOf({ messages: [mail("1", "One"), mail("2", "Two"), mail("3", "Three")] });
    expect(actions.map(({ message }) => message.split("\n")[1])).toEqual([
      "Subject: One",
      "Subject: Two",
      "Subject: Three",
    ]);
    expect(actions.map(({ sessionKey }) => sessionKey)).toEqual(["hook:gmail:1", "hook:gmail:2", "hook:gmail:3"]);
  });

  it("takes its requests by path, from any source, as JSON only, and names their content a mail", () => {
    expect(mappingOf()).toMatchObject({
      id: "gmail",
      where: "hooks.gmail",
      match: { path: "gmail", source: undefined },
      accept: ["json"],
      contentSource: "Email",
      forEach: "messages",
    });
  });

  it("leaves blank what a mail does not have", () => {
    const [action] = actionsOf({ messages: [{ id: "1" }] });
    expect(action?.message).toBe("New email from \nSubject: \n\n");
  });

  it("uses the model, the thinking level and the boundary that hooks.gmail sets", () => {
    const [action] = actionsOf(
      { messages: [mail("1")] },
      { model: "openai/gpt", thinking: "low", allowUnsafeExternalContent: true },
    );
    expect(action).toMatchObject({ model: "openai/gpt", thinking: "low", allowUnsafeExternalContent: true });
    expect(actionsOf({ messages: [mail("1")] }, { allowUnsafeExternalContent: false })).toMatchObject([
      { model: undefined, allowUnsafeExternalContent: false },
    ]);
  });
});

describe("the session of a mail", () => {
  it("is its own, and needs no setting: not allowRequestSessionKey, not a prefix", async () => {
    expect(await sessionOf("18c5f0a2b3d4e6f7")).toBe("agent:main:hook:gmail:18c5f0a2b3d4e6f7");
  });

  it.each<unknown>([
    "x:agent:ops:main",
    "../../main",
    "\nagent:ops:main",
    { "0": "agent:ops:main" },
    ["a", "b"],
    12,
    true,
    "ｈook",
    "{{messages[0].from}}",
  ])("cannot leave hook:gmail:, whatever the id is: %j", async (id) => {
    expect(await sessionOf(id)).toMatch(/^agent:main:hook:gmail:[A-Za-z0-9._-]+$/);
  });

  it.each<unknown>(["", "  ", null, undefined])("is a new one for a mail without an id: %j", async (id) => {
    const key = /^agent:main:hook:gmail:[0-9a-f-]{36}$/;
    const [first, second] = [await sessionOf(id), await sessionOf(id)];
    expect(first).toMatch(key);
    expect(second).toMatch(key);
    expect(first).not.toBe(second);
  });
});

describe("the body limit of the preset", () => {
  it.each<[number, number]>([
    [20_000, 6_819_200],
    [1, 819_500],
    [50_000, 15_819_200],
    [109_117, 33_554_300],
    [109_118, 33_554_432],
    [10_485_760, 33_554_432],
  ])("follows from hooks.gmail.maxBytes: %d gives %d bytes", (maxBytes, limit) => {
    expect(mappingOf({ maxBytes }).maxBodyBytes).toBe(limit);
  });

  it("is 6,819,200 bytes when nothing is configured", () => {
    expect(mappingOf().maxBodyBytes).toBe(6_819_200);
  });
});
