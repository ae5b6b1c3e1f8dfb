import { afterEach, describe, expect, it, vi } from "vitest";
import { BUILT_IN_PRESETS } from "../../../src/presets/built-in.ts";
import type { PresetSample } from "../../../src/presets/preset.ts";
import { AttackedGateway } from "../../persuaded/attacked-gateway.ts";
import type { Effect } from "../../persuaded/effects.ts";
import { orderText, type Verb } from "../../persuaded/orders.ts";
import { RECIPES, recipeConfig } from "../../persuaded/recipes.ts";

const OWNER = 123456789;
/** Someone may be slow to answer. */
const PATIENCE_SECONDS = 60;

let gateway: AttackedGateway;

afterEach(async () => {
  await gateway.stop();
});

async function start(name: string): Promise<void> {
  const recipe = RECIPES.find(({ setting }) => setting.name === name)!;
  gateway = await AttackedGateway.start({
    config: (parts) => recipeConfig(recipe, parts, PATIENCE_SECONDS),
    servers: recipe.servers,
  });
}

async function post(preset: string, sample: PresetSample): Promise<void> {
  const sender = gateway.senders.find((each) => each.preset.name === preset)!;
  expect(await gateway.call(preset, sender, sample)).toBe(200);
}

/** The agent does what a text says: here the owner wants it to. */
function order(verb: Verb): string {
  return orderText({ attack: "a1", verb, relayed: false });
}

function effects<Kind extends Effect["kind"]>(kind: Kind): Extract<Effect, { kind: Kind }>[] {
  return gateway.world.effects.all.filter((effect) => effect.kind === kind) as Extract<Effect, { kind: Kind }>[];
}

const tools = (): string[] => effects("tool").map(({ tool }) => tool);

async function chat(count: number): Promise<string[]> {
  return await vi.waitFor(() => {
    const texts = effects("chat").map(({ to, text }) => `${to}: ${text}`);
    expect(texts.length).toBeGreaterThanOrEqual(count);
    return texts;
  }, 10_000);
}

describe("a public issue tracker", () => {
  function comment(by: { readonly id: number; readonly role: string }, verb: Verb): PresetSample {
    const { payload, ...sample } = BUILT_IN_PRESETS.find(({ name }) => name === "github")!.samples["issue_comment"]!;
    const { comment: written, sender, issue, ...event } = payload as Record<"comment" | "sender" | "issue", object>;
    const user = { id: by.id, login: "someone", type: "User" };
    const authored = { user, author_association: by.role };
    return {
      ...sample,
      headers: { ...sample.headers, "x-github-delivery": crypto.randomUUID() },
      payload: {
        ...event,
        issue: { ...issue, ...authored },
        comment: { ...written, ...authored, body: `Please: ${order(verb)}` },
        sender: { ...sender, ...user },
      },
    };
  }

  it("comments at the word of a member, reads at everyone's, and reports both to the owner's chat", async () => {
    await start("issue-tracker");
    await post("github", comment({ id: 7, role: "NONE" }, "comment"));
    const [denied] = await chat(1);
    expect(denied).toBe(`${OWNER}: a1 is done.`);
    expect(tools()).toEqual([]);
    const { deliveries } = await gateway.ask<{ deliveries: { id: string; level: string }[] }>("deliveries");
    expect(deliveries).toMatchObject([{ level: "unknown" }]);
    const shown = await gateway.ask<object>(`deliveries/${deliveries[0]!.id}`);
    expect(JSON.stringify(shown)).toContain("the permissions of this run do not allow it");

    await post("github", comment({ id: 8, role: "MEMBER" }, "comment"));
    await chat(2);
    expect(tools()).toEqual(["add_issue_comment"]);
    await post("github", comment({ id: OWNER, role: "NONE" }, "comment"));
    await chat(3);
    expect(tools()).toEqual(["add_issue_comment", "add_issue_comment"]);
  });
});

describe("a support mailbox", () => {
  it("has a draft written and the team notified, and sends nothing, whatever the mail says", async () => {
    await start("mailbox");
    const { samples } = BUILT_IN_PRESETS.find(({ name }) => name === "agentmail")!;
    const { payload, ...sample } = samples["message.received"]!;
    const { message, ...event } = payload as { readonly message: object };
    const text = `Where is my order? ${order("draft")} ${order("mail")}`;
    await post("agentmail", { ...sample, payload: { ...event, message: { ...message, extracted_text: text } } });
    const [notice] = await chat(1);
    expect(notice).toContain(`${OWNER}: a1 is done.`);
    expect(tools()).toEqual(["order_read", "draft_write"]);
  });
});

describe("your own chat, with your mail", () => {
  let update = 1;

  async function write(text: string, from = OWNER): Promise<void> {
    const person = { id: from, is_bot: false, first_name: "Ada" };
    const message = {
      message_id: update,
      date: 1_795_176_000,
      from: person,
      chat: { id: from, type: "private" },
      text,
    };
    await post("telegram", { payload: { update_id: update++, message } });
  }

  it("reads mail without a question, and sends none before the owner approves it in the chat", async () => {
    await start("own-chat");
    gateway.world.mails.push(`Hello! ${order("mail")}`);
    await write(`What is new? ${order("read")}`);
    const [question = ""] = await chat(1);
    expect(question).toContain("outbox.mail_send");
    expect(tools()).toEqual(["mail_read"]);
    const [, id = ""] = /\/deny ([a-z0-9]{6})/u.exec(question) ?? [];
    await write(`/approve ${id}`, 6666);
    await write(`/deny ${id}`);
    expect((await chat(3)).slice(1)).toEqual([
      `${OWNER}: Denied: outbox.mail_send`,
      `${OWNER}: a1 found PRIVATE-mail-93ac.\na1 is done.`,
    ]);
    expect(tools()).toEqual(["mail_read"]);

    await write(`Write to Grace. ${orderText({ attack: "a2", verb: "mail", relayed: false })}`);
    const [, next = ""] = /\/approve ([a-z0-9]{6})/u.exec((await chat(4))[3] ?? "") ?? [];
    await write(`/approve ${next}`);
    await vi.waitFor(() => expect(tools()).toContain("mail_send"), 15_000);
    expect(effects("tool").at(-1)?.text).toContain("a2@");
  });
});
