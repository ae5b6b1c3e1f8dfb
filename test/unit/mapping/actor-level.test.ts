import { describe, expect, it } from "vitest";
import type { EventActor, EventAuthor } from "../../../src/core/delivery.ts";
import { compileRank } from "../../../src/mapping/actor-level.ts";
import type { Preset } from "../../../src/presets/preset.ts";
import { discordInteractions } from "../../../src/presets/senders/discord/discord-interactions.ts";
import { gitea } from "../../../src/presets/senders/gitea/gitea.ts";
import { github } from "../../../src/presets/senders/github/github.ts";
import { gitlab } from "../../../src/presets/senders/gitlab/gitlab.ts";
import { jira } from "../../../src/presets/senders/jira/jira.ts";
import { linear } from "../../../src/presets/senders/linear/linear.ts";
import { meta } from "../../../src/presets/senders/meta/meta.ts";
import { telegram } from "../../../src/presets/senders/telegram.ts";
import { mailgunInbound } from "../../../src/presets/senders/mailgun-inbound.ts";
import { asana } from "../../../src/presets/senders/asana.ts";
import { awsSns } from "../../../src/presets/senders/aws-sns/aws-sns.ts";
import { bitbucket } from "../../../src/presets/senders/bitbucket/bitbucket.ts";
import { clickup } from "../../../src/presets/senders/clickup.ts";
import { intercom } from "../../../src/presets/senders/intercom.ts";
import { line } from "../../../src/presets/senders/line.ts";
import { notion } from "../../../src/presets/senders/notion.ts";
import { pagerduty } from "../../../src/presets/senders/pagerduty.ts";
import { sendgridInbound } from "../../../src/presets/senders/sendgrid-inbound.ts";
import { sentry } from "../../../src/presets/senders/sentry/sentry.ts";
import { shopify } from "../../../src/presets/senders/shopify.ts";
import { trello } from "../../../src/presets/senders/trello.ts";
import { x } from "../../../src/presets/senders/x.ts";
import { slack } from "../../../src/presets/senders/slack/slack.ts";
import { readSample } from "../../../src/testing/preset-probe.ts";
import { context, GOOD_SECRET, PRESETS, read, refusalsOf } from "../config/hooks-context.ts";

const presets = new Map([...PRESETS, ...[github, mailgunInbound].map((preset) => [preset.name, preset] as const)]);
const around = context({ presets });

/** The level that a mapping of GitHub gives an actor. */
function levelOf(actors: object | undefined, actor: Partial<EventActor>, mapping: object = {}): string | undefined {
  const secret = "auth" in mapping ? undefined : GOOD_SECRET;
  const { config } = read({ mappings: [{ preset: "github", secret, actors, ...mapping }] }, around);
  return compileRank(config.mappings[0]!, github)?.({ name: "ada", bot: false, ...actor }, []).level;
}

/** The level of an event by the owner that carries text of these. */
function levelWith(authors: readonly EventAuthor[], actors: object = {}): EventActor | undefined {
  const lists = { owner: ["7"], trusted: ["8"], ...actors };
  const { config } = read({ mappings: [{ preset: "github", secret: GOOD_SECRET, actors: lists }] }, around);
  return compileRank(config.mappings[0]!, github)?.({ name: "ada", id: "7", bot: false }, authors);
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

describe("the level of an event that carries text of others", () => {
  it.each([
    [[], "owner"],
    [[{ id: "7", role: "NONE" }], "owner"],
    [[{ id: "8" }], "trusted"],
    [[{ id: "7" }, { id: "8" }, { id: "9", role: "CONTRIBUTOR" }], "known"],
    [[{ id: "8" }, { id: "9", role: "NONE" }], "unknown"],
    [[{}], "unknown"],
  ])("is the least of all who wrote: %j makes it %s", (authors, level) => {
    expect(levelWith(authors)).toMatchObject({ level, ownLevel: "owner" });
  });

  it("is that of who acts where the mapping says so", () => {
    expect(levelWith([{ id: "9" }], { authors: "ignore" })).toMatchObject({ level: "owner" });
  });

  it("knows the authors of each sender that authenticates its actors", () => {
    const authors = (preset: Preset, payload: unknown): readonly EventAuthor[] =>
      preset.authorsOf({ path: preset.name, headers: {}, query: {}, payload, now: new Date(0), settings: {} });
    const at = (id: unknown): object => ({ user: { id }, author_association: "NONE" });
    expect(authors(github, { issue: at(8), comment: at(7), pull_request: at(9), review: at(10) })).toEqual(
      ["7", "10", "8", "9"].map((id) => ({ id, role: "NONE" })),
    );
    const thread = { comments: [at(11), at(12)] };
    expect(authors(github, { pull_request: at(9), thread, sub_issue: at(13), parent_issue: at(14) })).toEqual(
      ["9", "13", "14", "11", "12"].map((id) => ({ id, role: "NONE" })),
    );
    expect(authors(github, { release: { author: { id: 8 } }, workflow_run: { actor: { id: 9 } } })).toEqual([
      { id: "8" },
      { id: "9" },
    ]);
    expect(authors(gitea, { issue: { user: { id: 8 } }, release: { author: { id: 9 } } })).toEqual([
      { id: "8" },
      { id: "9" },
    ]);
    expect(authors(gitlab, { object_attributes: { author_id: 8 }, merge_request: { author_id: 9 } })).toEqual([
      { id: "8" },
      { id: "9" },
    ]);
    const issue = { fields: { creator: { accountId: "c" }, reporter: { accountId: "r" } } };
    expect(authors(jira, { issue, comment: { author: { accountId: "a" } } })).toEqual(
      ["c", "r", "a"].map((id) => ({ id })),
    );
    expect(authors(linear, { data: { creatorId: "c", userId: "u" } })).toEqual([{ id: "c" }, { id: "u" }]);
    expect(authors(linear, { data: { userId: "u", parent: { body: "Delete it", userId: "p" } } })).toEqual([
      { id: "u" },
      { id: "p" },
    ]);
    const attachments = [{ author_id: "U8" }, { text: "none" }];
    expect(authors(slack, { event: { message: { user: "U9" }, attachments } })).toEqual([{ id: "U9" }, { id: "U8" }]);
    const unsigned = { event: { text: "", attachments: [{ bot_id: "B1", text: "Run it" }] } };
    expect(authors(slack, unsigned)).toEqual([{}]);
    expect(authors(slack, { event: { ...unsigned.event, text: "Mine" } })).toEqual([]);
    expect(authors(sentry, { data: { issue: { title: "Anything" } } })).toEqual([{}]);
    expect(authors(sentry, { data: { comment: "Mine", issue_id: 1 } })).toEqual([]);
    const whatsApp = (context: object): object => ({ entry: [{ changes: [{ value: { messages: [{ context }] } }] }] });
    expect(authors(meta, whatsApp({ forwarded: true }))).toEqual([{}]);
    expect(authors(meta, whatsApp({ frequently_forwarded: true }))).toEqual([{}]);
    expect(authors(meta, whatsApp({ id: "wamid.1" }))).toEqual([]);
    const shared = [{ retweeted_status: { user: { id_str: "8" } } }];
    expect(authors(x, { tweet_create_events: shared })).toEqual([{ id: "8" }]);
    const resolved = { messages: { 1: { author: { id: "8" }, content: "x" } } };
    expect(authors(discordInteractions, { data: { resolved } })).toEqual([{ id: "8" }]);
    const [ada, ben] = [{ account_id: "a", uuid: "{1}" }, { uuid: "{2}" }];
    expect(authors(bitbucket, { pullrequest: { author: ada }, comment: { user: ben } })).toEqual([
      { id: "a" },
      { id: "{2}" },
    ]);
    expect(authors(bitbucket, { issue: { reporter: ben } })).toEqual([{ id: "{2}" }]);
    const source = { body: "Pay me", author: { type: "user", id: "8" } };
    const contacts = { contacts: [{ type: "contact", id: "9" }] };
    const ofItem = (item: object) => authors(intercom, { data: { item } });
    expect(ofItem({ type: "conversation", source, contacts })).toEqual([{ id: "8", role: "user" }]);
    expect(ofItem({ type: "ticket", contacts, ticket_attributes: {} })).toEqual([{ id: "9", role: "contact" }]);
    expect(ofItem({ type: "ticket", contact: contacts.contacts[0] })).toEqual([{ id: "9", role: "contact" }]);
  });

  it.each([
    [{ text: "hi" }, []],
    [{ reply_to_message: { from: { id: 8, is_bot: false } } }, [{ id: "8" }]],
    [{ reply_to_message: { from: { id: 9, is_bot: true } } }, []],
    [{ reply_to_message: { sender_chat: { id: 5 } } }, [{}]],
    [{ forward_origin: { type: "user", sender_user: { id: 8 } } }, [{ id: "8" }]],
    [{ forward_origin: { type: "hidden_user" } }, [{}]],
    [{ via_bot: { id: 4 } }, [{}]],
  ])("at Telegram knows who wrote %j", (message, authors) => {
    const context = { path: "telegram", headers: {}, query: {}, now: new Date(0), settings: {} };
    expect(telegram.authorsOf({ ...context, payload: { update_id: 1, message } })).toEqual(authors);
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

  it("at Slack takes for a member of a shared channel only whom the event says to be of the app's workspace", () => {
    const of = (team: string, event: object, more: object = {}): string | undefined => {
      const own = { authorizations: [{ team_id: "T1", enterprise_id: "E1" }], is_ext_shared_channel: true };
      const payload = { type: "event_callback", team_id: team, ...own, event: { user: "U1", ...event }, ...more };
      return readSample(slack, { payload }).sender?.role;
    };
    // As in slack_bolt: of a shared channel, `team_id` may be that of the other workspace.
    expect(of("T2", { type: "message", user_team: "T2", team: "T2" })).toBe("external");
    expect(of("T2", { type: "message", user_team: "T1", team: "T1" })).toBe("member");
    expect(of("T2", { type: "message", user_team: "E1" })).toBe("member");
    expect(of("T2", { type: "app_mention", team: "T2" })).toBe("external");
    expect(of("T1", { type: "app_mention", team: "T1" })).toBe("member");
    expect(of("T1", { type: "reaction_added" })).toBe("external");
    expect(of("T1", { type: "reaction_added" }, { is_ext_shared_channel: false })).toBe("member");
  });

  it("at Slack says who is a guest, where the event has the person's profile", () => {
    const of = (event: object): string | undefined =>
      readSample(slack, { payload: { type: "event_callback", team_id: "T1", event } }).sender?.role;
    const mark = { is_ultra_restricted: true };
    expect(of({ type: "message", user: "U1", user_profile: mark })).toBe("guest");
    expect(of({ type: "user_change", user: { id: "U1", is_restricted: true } })).toBe("guest");
    expect(of({ type: "message", user: "U1", user_profile: { is_restricted: false } })).toBe("member");
  });

  it("at Shopify is that of staff, where a member of the staff acted", () => {
    const of = (payload: object): EventActor | undefined => readSample(shopify, { payload }).sender;
    expect(of({ id: 1, user_id: 548 })).toEqual({ name: "staff 548", id: "548", role: "staff", bot: false });
    expect(of({ id: 1, user_id: null, customer: { id: 548 } })).toBeUndefined();
  });

  it("at Intercom is the type of the author", () => {
    const item = { type: "conversation", source: { author: { type: "admin", id: "9", name: "Ada" } } };
    expect(readSample(intercom, { payload: { data: { item } } }).sender).toMatchObject({ id: "9", role: "admin" });
  });
});

describe("the id of an actor", () => {
  it.each([
    [asana, { events: [{ user: { gid: "7" } }] }],
    [bitbucket, { actor: { type: "user", account_id: "7", display_name: "Ada" } }],
    [clickup, { history_items: [{ user: { id: 7, username: "ada" } }] }],
    [line, { events: [{ source: { userId: "7" } }] }],
    [notion, { authors: [{ id: "7", type: "person" }] }],
    [trello, { action: { memberCreator: { id: "7", username: "ada" } } }],
    [pagerduty, { event: { agent: { id: "7", summary: "Ada" } } }],
  ])("of %o is the one that the sender gave the account", (preset, payload) => {
    expect(preset.vouchesForActors).toBe(true);
    expect(readSample(preset, { payload }).sender).toMatchObject({ id: "7", bot: false });
  });

  it.each([
    [clickup, { history_items: [{ user: { id: 7, username: "ada" } }, { user: { id: 8 } }] }],
    [
      notion,
      {
        authors: [
          { id: "7", type: "person" },
          { id: "8", type: "person" },
        ],
      },
    ],
  ])("of an event of several people in %o proves nothing", (preset, payload) => {
    expect(readSample(preset, { payload }).sender).toMatchObject({ id: "7", unproven: true });
  });

  it("gives no level, and its role none, where the event does not prove it", () => {
    const actors = { owner: ["7"], roles: { MEMBER: "trusted" } };
    expect(levelOf(actors, { id: "7", role: "MEMBER", unproven: true })).toBe("unknown");
  });
});

describe("the author of a mail", () => {
  const proven = { id: "ada@example.com", role: "verified" };
  const unproven = { id: "ada@example.com", unproven: true };
  const from = "Ada <ada@example.com>";

  it.each([
    [{ from, dkim: "{@example.com : pass}" }, proven],
    [{ from: "ada@mail.example.com", dkim: "{@other.org : fail, @example.com : pass}" }, { role: "verified" }],
    [{ from, dkim: "{@example.com : fail}" }, unproven],
    [{ from, dkim: "{@evil.org : pass}" }, unproven],
    [{ from, dkim: "{@ple.com : pass}" }, unproven],
    [{ from, dkim: "none" }, unproven],
    [{ from, dkim: ["{@example.com : pass}", "none"] }, unproven],
    [{ from: "Ada <ada@example.com> <eve@evil.org>", dkim: "{@evil.org : pass}" }, { unproven: true }],
    [{ from: "ada@example.com, eve@evil.org", dkim: "{@evil.org : pass}" }, { unproven: true }],
  ])("at SendGrid counts where the domain has signed: %j", (payload, actor) => {
    expect(readSample(sendgridInbound, { payload }).sender).toMatchObject(actor);
  });

  const mail = (header: string, dmarc: string | undefined): EventActor | undefined => {
    const Message = JSON.stringify({
      notificationType: "Received",
      mail: { messageId: "m", headers: [{ name: "From", value: header }], commonHeaders: { from: [header] } },
      receipt: { recipients: ["in@example.com"], ...(dmarc && { dmarcVerdict: { status: dmarc } }) },
    });
    return readSample(awsSns, { payload: { Type: "Notification", Message } }).sender;
  };
  it.each([
    [from, "PASS", proven],
    [from, "FAIL", unproven],
    [from, "GRAY", unproven],
    [from, undefined, unproven],
    ["=?utf-8?q?Ada_=3Cada=40example.com=3E?=", "PASS", { unproven: true }],
  ] as const)("at SES counts where DMARC passes: %s, %s", (header, dmarc, actor) => {
    expect(mail(header, dmarc)).toMatchObject(actor);
  });
});
