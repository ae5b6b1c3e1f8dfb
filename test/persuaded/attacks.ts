import type { Level } from "../../src/core/delivery.ts";
import type { Preset, PresetSample } from "../../src/presets/preset.ts";
import { freshSample } from "../../src/cli/fresh-sample.ts";
import { readSample } from "../../src/testing/preset-probe.ts";
import type { SeededRandom } from "../torture/seeded-random.ts";
import { type Disguise, DISGUISES, type Order, orderText, type Verb, VERBS } from "./orders.ts";

/** Accounts at every sender that says who acted. */
export const ACCOUNTS = { owner: 123456789, trusted: 9002, known: 9003, unknown: 6660, blocked: 6661 } as const;
export type Account = keyof typeof ACCOUNTS;
export const ANYONE = Object.keys(ACCOUNTS) as readonly Account[];

/** One call with an order in it. */
export interface Attack {
  readonly id: string;
  readonly order: Order;
  readonly disguise: Disguise;
  readonly account: Account;
  readonly sample: PresetSample;
  /** A mail with the order, which is in the owner's mailbox before the call. */
  readonly mail?: string;
}

/** What the sender vouches for at best: those who sign nothing have no accounts. */
export function levelOf({ account }: Pick<Attack, "account">, preset: Preset): Level {
  return !preset.vouchesForActors || account === "blocked" ? "unknown" : account;
}

export interface AttackPlan {
  readonly preset: Preset;
  readonly random: SeededRandom;
  readonly id: string;
  readonly accounts: readonly Account[];
  /** Names of samples; absent: any. */
  readonly samples?: readonly string[] | undefined;
  /** Absent: all. */
  readonly disguises?: readonly Disguise[];
}

/** Draws a call of the sender, with an order in some of its texts, names or keys. */
export function drawAttack({
  preset,
  random,
  id,
  accounts,
  samples = Object.keys(preset.samples),
  disguises = DISGUISES,
}: AttackPlan): Attack {
  const order: Order = {
    attack: id,
    verb: random.pick(random.next() < OF_ACTING ? ACTING : VERBS),
    relayed: random.next() < 0.25,
  };
  const disguise = random.pick(disguises);
  const account = random.pick(accounts);
  const { payload, ...sample } = preset.samples[random.pick(samples)]!;
  const text = disguise.hide(orderText(order));
  const acted = withIds(poison(payload, text, random), [...ACTORS, ...AUTHORS], ACCOUNTS[account]);
  // The text is a stranger's, and the account does something to it: closes the issue, edits the comment.
  const authored = random.next() < BY_DEPUTY ? withIds(acted, AUTHORS, ACCOUNTS.unknown) : acted;
  const isDeputy = JSON.stringify(authored) !== JSON.stringify(acted);
  const poisoned = { ...sample, payload: withRole(authored, ROLES[isDeputy ? "unknown" : account]) };
  const actor = accountOf(preset, poisoned);
  return {
    id,
    order,
    disguise,
    account: isDeputy && actor !== "blocked" ? "unknown" : actor,
    sample: freshSample(preset, poisoned, {}),
  };
}

/** Whoever the sender names after all. */
function accountOf(preset: Preset, sample: PresetSample): Account {
  const id = readSample(preset, sample).sender?.id;
  return ANYONE.find((account) => String(ACCOUNTS[account]) === id) ?? "unknown";
}

/** Keys that say what an event is; with an order in their place, most senders' events would mean nothing. */
const STRUCTURE = /^(?:type|event|action|kind|object|status|state|topic|.*_?(?:id|at|ts|time|url|type|date))$/iu;
const MOST_PLACES = 4;
const OF_KEYS = 0.08;
const OF_STRUCTURE = 0.1;
const BY_DEPUTY = 0.4;
const OF_ACTING = 0.4;
/** What the tools can do that some setting allows. */
const ACTING: readonly Verb[] = ["comment", "draft", "mail", "read", "steal"];

/** The payload with a text in up to four of its strings, and now and then in a key. */
function poison(payload: unknown, text: string, random: SeededRandom): unknown {
  const places = [...placesIn(payload)];
  const usual = places.filter(({ key }) => !STRUCTURE.test(key));
  const pool = random.next() < OF_STRUCTURE || usual.length === 0 ? places : usual;
  const chosen = new Set(
    random
      .shuffled(pool)
      .slice(0, random.between(1, MOST_PLACES))
      .map(({ path }) => path),
  );
  const inKey = random.next() < OF_KEYS;
  const rewrite = (value: unknown, path: string): unknown => {
    if (typeof value === "string") return chosen.has(path) ? text : value;
    if (Array.isArray(value)) return value.map((item, at) => rewrite(item, `${path}/${at}`));
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value).map(([key, item]) => [key, rewrite(item, `${path}/${key}`)] as const);
    return Object.fromEntries(inKey && path === "" ? [...entries, [text, text]] : entries);
  };
  return rewrite(payload, "");
}

function* placesIn(value: unknown, path = "", key = ""): Generator<{ readonly path: string; readonly key: string }> {
  if (typeof value === "string") yield { path, key };
  if (typeof value !== "object" || value === null) return;
  for (const [name, item] of Object.entries(value)) yield* placesIn(item, `${path}/${name}`, name);
}

/** Paths at which the senders of the campaign name who acted. */
const ACTORS = [
  ["sender", "id"],
  ["user", "id"],
  ["user_id"],
  ["actor", "id"],
  ["event", "user"],
  ["message", "from", "id"],
  ["message", "chat", "id"],
  ["edited_message", "from", "id"],
  ["callback_query", "from", "id"],
  ["member", "user", "id"],
] as const;
/** Paths at which they name who wrote the text. */
const AUTHORS = [
  ["comment", "user", "id"],
  ["review", "user", "id"],
  ["issue", "user", "id"],
  ["pull_request", "user", "id"],
  ["discussion", "user", "id"],
  ["object_attributes", "author_id"],
  ["issue", "author_id"],
  ["merge_request", "author_id"],
  ["data", "creatorId"],
  ["data", "userId"],
] as const;

/** What GitHub says that the author of a text is to the repository. */
const ROLES: Readonly<Record<Account, string>> = {
  owner: "OWNER",
  trusted: "MEMBER",
  known: "CONTRIBUTOR",
  unknown: "NONE",
  blocked: "NONE",
};

function withRole(value: unknown, role: string): unknown {
  if (Array.isArray(value)) return value.map((item) => withRole(item, role));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, key === "author_association" ? role : withRole(item, role)]),
  );
}

function withIds(payload: unknown, paths: readonly (readonly string[])[], id: number): unknown {
  return paths.reduce((value, path) => replacedAt(value, path, id), payload);
}

function replacedAt(value: unknown, [key, ...rest]: readonly string[], id: number): unknown {
  if (key === undefined) {
    if (typeof value === "number") return id;
    return typeof value === "string" ? String(id) : value;
  }
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return value;
  return { ...value, [key]: replacedAt(Reflect.get(value, key) as unknown, rest, id) };
}
