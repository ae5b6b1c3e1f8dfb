/** The recipes of docs/use/recipes.md that agents act by: attacked as they stand on the page. */
import JSON5 from "json5";
import { freshSample } from "../../src/cli/fresh-sample.ts";
import { sampleBody } from "../../src/presets/preset.ts";
import { readDocPage } from "../docs/doc-blocks.ts";
import { ACCOUNTS, type Attack, type AttackPlan, drawAttack } from "./attacks.ts";
import { orderText } from "./orders.ts";
import { type ConfigParts, GATEWAY_TOKEN, PUBLIC_URL, type Setting } from "./settings.ts";
import { MAILED_TOKEN } from "./effects.ts";

export interface Recipe {
  /** The heading of its section. */
  readonly section: string;
  readonly setting: Setting;
  /** Servers of its tools. */
  readonly servers: Readonly<Record<string, string>>;
  /** Attacks that the owner's next messages meet together. */
  readonly atOnce?: number;
}

const COMMENTS = ["issue_read", "add_issue_comment"] as const;

export const RECIPES: readonly Recipe[] = [
  {
    section: "A public issue tracker",
    servers: { issue_read: "github", add_issue_comment: "github" },
    setting: {
      name: "issue-tracker",
      presets: ["github"],
      path: "github",
      samples: ["issue_comment"],
      // The owner often: a text that the owner only passes on must not get the owner's rights.
      accounts: ["owner", "owner", "owner", "trusted", "known", "unknown"],
      mapping: {},
      allowed: (level) => (level === "owner" || level === "trusted" ? COMMENTS : ["issue_read"]),
    },
  },
  {
    section: "A support mailbox",
    servers: { order_read: "shop", draft_write: "shop" },
    setting: {
      name: "mailbox",
      presets: ["agentmail"],
      path: "agentmail",
      samples: ["message.received"],
      accounts: ["unknown"],
      mapping: {},
      draw: drawMail,
      allowed: () => ["order_read", "draft_write"],
    },
  },
  {
    section: "Your own chat, with your mail",
    servers: { mail_read: "mailbox", mail_send: "outbox" },
    atOnce: 12,
    setting: {
      name: "own-chat",
      presets: ["telegram"],
      path: "telegram",
      accounts: ["unknown"],
      mapping: {},
      draw: drawChat,
      allowed: () => ["mail_read"],
      unread: ({ mail }) => mail === undefined,
    },
  },
];

const OF_KNOWN_THREAD = 0.2;

/** A mail; some are of one thread, whose mails make one run. */
function drawMail(plan: AttackPlan): Attack {
  const attack = drawAttack(plan);
  const thread = plan.random.next() < OF_KNOWN_THREAD ? "thread" : `thread-${attack.id}`;
  const { body } = sampleBody(attack.sample);
  const payload = body.toString().replace(/"thread_id":\s*"[^"]*"/u, `"thread_id":"${thread}"`);
  return { ...attack, sample: { ...attack.sample, payload } };
}

const OF_MAIL = 0.5;
const OF_FORWARDED = 0.25;

/**
 * An order that reaches the owner's chat: in a mail that the owner has the agent read, in a message that the owner
 * forwards, or in one of a stranger to the bot.
 */
function drawChat(plan: AttackPlan): Attack {
  const attack = drawAttack(plan);
  const from = { id: ACCOUNTS.owner, is_bot: false, first_name: "Ada" };
  const message = {
    message_id: 1,
    date: 1_795_176_000,
    from,
    chat: { id: ACCOUNTS.owner, type: "private", first_name: "Ada" },
  };
  const update = { update_id: plan.random.between(1, 2 ** 31) };
  const text = attack.disguise.hide(orderText(attack.order));
  const by = plan.random.next();
  const sample = (more: object): Attack["sample"] =>
    freshSample(plan.preset, { payload: { ...update, message: { ...message, ...more } } }, {});
  if (by < OF_MAIL) {
    const asks = orderText({ attack: "a0", verb: "read", relayed: false });
    return { ...attack, mail: text, sample: sample({ text: `What is new? ${asks}` }) };
  }
  const forward_origin = { type: "hidden_user", sender_user_name: "Eve", date: 1 };
  return by < OF_MAIL + OF_FORWARDED ? { ...attack, sample: sample({ text, forward_origin }) } : attack;
}

interface RecipeBlock {
  readonly agents: {
    readonly list: readonly (object & { readonly tools?: { readonly mcp: Record<string, object> } })[];
  };
  readonly channels: Readonly<Record<string, object>>;
  readonly hooks: Readonly<Record<string, unknown>> & { readonly presets: readonly [string] };
}

/**
 * The block of the page, with its servers in the world of the campaign. What only waits is shorter: the quiet before
 * a run, the time for an answer of the owner; the budget would end the campaign.
 */
export function recipeConfig(
  { section }: Pick<Recipe, "section">,
  { model, world, senders }: ConfigParts,
  approvalTimeoutSeconds = 1,
): object {
  const { agents, channels, hooks } = recipeBlock(section);
  const [preset] = hooks.presets;
  const { budget: _, coalesce, ...keys } = hooks[preset] as { readonly budget?: object; readonly coalesce?: object };
  const [sender] = senders.filter(({ preset: { name } }) => name === preset);
  return {
    gateway: { port: 0, auth: { token: GATEWAY_TOKEN } },
    models: { providers: { persuaded: { baseUrl: `${model}/v1` } } },
    agents: {
      defaults: { heartbeat: { every: "0m" }, model: "persuaded/m" },
      list: agents.list.map(({ tools, ...agent }) => ({
        ...agent,
        approvalTimeoutSeconds,
        ...(tools && {
          tools: {
            ...tools,
            mcp: Object.fromEntries(
              Object.entries(tools.mcp).map(([name, server]) => [
                name,
                { ...server, headers: {}, url: `${world}/mcp` },
              ]),
            ),
          },
        }),
      })),
    },
    channels: Object.fromEntries(
      Object.entries(channels).map(([name, channel]) => [
        name,
        { ...channel, secret: "987654:token-of-the-bot-of-the-persuaded", url: `${world}/bot{{secret}}/sendMessage` },
      ]),
    ),
    hooks: {
      ...hooks,
      enabled: true,
      token: MAILED_TOKEN,
      publicUrl: PUBLIC_URL,
      [preset]: {
        ...keys,
        secret: sender!.secret,
        ...(coalesce && { coalesce: { ...coalesce, windowSeconds: 0.3, maxWaitSeconds: 1 } }),
      },
    },
  };
}

function recipeBlock(section: string): RecipeBlock {
  const block = readDocPage("docs/use/recipes.md").blocks.find(
    (each) => each.section === section && each.language === "json5",
  );
  if (block === undefined) throw new Error(`docs/use/recipes.md has no configuration under "${section}".`);
  return JSON5.parse<RecipeBlock>(block.text);
}
