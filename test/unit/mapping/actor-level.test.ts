import { describe, expect, it } from "vitest";
import type { EventActor } from "../../../src/core/delivery.ts";
import { compileRank } from "../../../src/mapping/actor-level.ts";
import { github } from "../../../src/presets/senders/github/github.ts";
import { mailgunInbound } from "../../../src/presets/senders/mailgun-inbound.ts";
import { slack } from "../../../src/presets/senders/slack/slack.ts";
import { readSample } from "../../../src/testing/preset-probe.ts";
import { context, GOOD_SECRET, PRESETS, read, refusalsOf } from "../config/hooks-context.ts";

const presets = new Map([...PRESETS, ...[github, mailgunInbound].map((preset) => [preset.name, preset] as const)]);
const around = context({ presets });

/** The level that a mapping of GitHub gives an actor. */
function levelOf(actors: object | undefined, actor: Partial<EventActor>, mapping: object = {}): string | undefined {
  const secret = "auth" in mapping ? undefined : GOOD_SECRET;
  const { config } = read({ mappings: [{ preset: "github", secret, actors, ...mapping }] }, around);
  return compileRank(config.mappings[0]!, github)?.({ name: "ada", bot: false, ...actor }).level;
}

describe("the level of an actor", () => {
  it.each([
    [{ owner: ["7"] }, { id: "7", role: "NONE" }, "owner"],
    [{ trusted: [" 7 "] }, { id: "7" }, "trusted"],
    [{ known: ["7"] }, { id: "7", role: "OWNER" }, "known"],
    [undefined, { id: "7", role: "MEMBER" }, "trusted"],
    [undefined, { id: "7", role: "CONTRIBUTOR" }, "known"],
    [undefined, { id: "7", role: "NONE" }, "unknown"],
    [undefined, { id: "7", role: "constructor" }, "unknown"],
    [{ roles: { MEMBER: "known" } }, { id: "7", role: "MEMBER" }, "known"],
    [{ roles: { MEMBER: "known" } }, { id: "7", role: "OWNER" }, "unknown"],
    [{ owner: ["ada"] }, { id: "7", name: "ada" }, "unknown"],
    [{ owner: ["ada"] }, { name: "ada" }, "unknown"],
  ])("by %j is for %j %s", (actors, actor, level) => {
    expect(levelOf(actors, actor)).toBe(level);
  });

  it("is unknown for everyone whom the hook token alone lets say who acted", () => {
    expect(levelOf({ owner: ["7"] }, { id: "7", role: "OWNER" }, { auth: { scheme: "token" } })).toBe("unknown");
  });

  it("is unknown for everyone where the signature does not cover the body", () => {
    const auth = { scheme: "signature", from: "header:x-sig", content: "{timestamp}", secret: GOOD_SECRET };
    const timestamp = { from: "header:x-time" };
    expect(levelOf({ owner: ["7"] }, { id: "7" }, { auth: { ...auth, timestamp } })).toBe("unknown");
  });

  it("needs a sender that authenticates the actor", () => {
    const mapping = { preset: "mailgun-inbound", secret: GOOD_SECRET, actors: { owner: ["ada@example.com"] } };
    expect(refusalsOf({ mappings: [mapping] }, around)).toEqual([
      "hooks.mappings[0].actors: would have no effect: the preset mailgun-inbound does not authenticate who acted, so everyone is unknown",
    ]);
  });

  it("is written once for each account", () => {
    const actors = { owner: ["1"], known: ["1"], trusted: ["2"], blocked: ["2"] };
    expect(refusalsOf({ mappings: [{ preset: "github", secret: GOOD_SECRET, actors }] }, around)).toEqual([
      'hooks.mappings[0].actors.known: "1" is in owner as well; name it once',
      'hooks.mappings[0].actors.blocked: "2" is in trusted as well; name it once',
    ]);
  });
});

describe("the role of an actor", () => {
  const role = (payload: object): string | undefined =>
    readSample(github, { headers: { "x-github-event": "issues" }, payload }).sender?.role;
  const sender = { login: "ada", id: 7 };

  it("at GitHub is that of who acts, not of who wrote the issue", () => {
    const issue = { user: { id: 8 }, author_association: "OWNER" };
    expect(role({ sender, issue })).toBeUndefined();
    expect(role({ sender, issue: { ...issue, user: { id: 7 } } })).toBe("OWNER");
    expect(role({ sender, issue, comment: { user: { id: 7 }, author_association: "NONE" } })).toBe("NONE");
  });

  it("at Slack says who is from another workspace", () => {
    const of = (team: string): string | undefined =>
      readSample(slack, {
        payload: { type: "event_callback", team_id: "T1", event: { type: "message", user: "U1", user_team: team } },
      }).sender?.role;
    expect([of("T1"), of("T2"), of("")]).toEqual(["member", "external", "member"]);
  });
});
