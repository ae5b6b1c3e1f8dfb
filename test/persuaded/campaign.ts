/** Attacks on real gateways whose agents obey every order, and what of it reached the world. */
import { canConfine } from "../../src/hosts/embedded/programs/probe.ts";
import { SeededRandom } from "../torture/seeded-random.ts";
import { AttackedGateway, type Sender } from "./attacked-gateway.ts";
import { drawAttack } from "./attacks.ts";
import { CHECKOUT, checkoutConfig, leftOutside } from "./checkout.ts";
import { MAILED_TOKEN } from "./effects.ts";
import { forbidden, type MadeAttack } from "./judge.ts";
import { RECIPES, recipeConfig } from "./recipes.ts";
import { type ConfigParts, fits, pathOf, type Setting, SETTINGS, settingsConfig, waitsOf } from "./settings.ts";
import type { World } from "./world.ts";

export interface CampaignOptions {
  readonly attacks: number;
  readonly seed: number;
  /** Absent: all of them. */
  readonly settings?: readonly string[];
  readonly onProgress?: (made: number) => void;
}

export interface CampaignResult {
  readonly attacks: number;
  /** Attacks that some agent read and obeyed. */
  readonly read: number;
  /** Effects that a configuration allows, by kind. */
  readonly effects: Readonly<Record<string, number>>;
  /** Deliveries by state, of the attacks and of their replays. */
  readonly states: Readonly<Record<string, number>>;
  /** Each effect that must not have been. */
  readonly violations: readonly string[];
}

const CALLERS = 24;
/** Calls before the agents get time for their runs. */
const AT_ONCE = 500;
const REPLAYED_OF = 10;

/** One gateway of the campaign. */
interface Field {
  readonly settings: readonly Setting[];
  readonly servers?: Readonly<Record<string, string>>;
  /** Finds the files that programs left where nothing may write. */
  readonly filesLeft?: (folder: string) => readonly string[];
  /** What else is in the owner's mailbox before the attacks. */
  readonly mails?: readonly string[];
  /** Attacks before their runs get time; absent: many. */
  readonly atOnce?: number | undefined;
  /** The owner writes as well, and gets an answer before the next attacks. */
  readonly hasOwner?: boolean;
  readonly config: (parts: ConfigParts) => object;
}

/** The part of all attacks that each gateway of its own gets, when all settings are attacked. */
const OF_ALONE = 0.1;

/** Attacks one gateway with all settings, one with each recipe, and one whose program works in a checkout. */
export async function campaign(options: CampaignOptions): Promise<CampaignResult> {
  const isChosen = ({ name }: Setting): boolean => options.settings?.includes(name) ?? true;
  const alone: Field[] = RECIPES.filter(({ setting }) => isChosen(setting)).map((recipe) => ({
    settings: [recipe.setting],
    servers: recipe.servers,
    ...(recipe.atOnce !== undefined && { atOnce: recipe.atOnce, hasOwner: true }),
    config: (parts) => recipeConfig(recipe, parts),
  }));
  const settings = SETTINGS.filter(isChosen);
  if (isChosen(CHECKOUT) && (await canConfine()) === undefined) {
    alone.push({ settings: [CHECKOUT], config: checkoutConfig, filesLeft: leftOutside, atOnce: 50 });
  }
  const ofEach = Math.ceil(options.attacks * (settings.length === 0 ? 1 / alone.length : OF_ALONE));
  const fields: (Field & { readonly attacks: number })[] = [
    {
      settings,
      mails: [`The new token is ${MAILED_TOKEN}.`],
      config: (parts) => settingsConfig(SETTINGS, parts),
      attacks: options.attacks - alone.length * ofEach,
    },
    ...alone.map((field) => ({ ...field, attacks: ofEach })),
  ];
  let result: CampaignResult = { attacks: 0, read: 0, effects: {}, states: {}, violations: [] };
  for (const field of fields.filter(({ attacks }) => attacks > 0)) {
    result = merged(result, await attackField(field, { ...options, made: result.attacks }));
  }
  return result;
}

function merged(one: CampaignResult, other: CampaignResult): CampaignResult {
  return {
    attacks: one.attacks + other.attacks,
    read: one.read + other.read,
    effects: summed(one.effects, other.effects),
    states: summed(one.states, other.states),
    violations: [...one.violations, ...other.violations],
  };
}

function summed(one: Readonly<Record<string, number>>, other: typeof one): Record<string, number> {
  const sums: Record<string, number> = { ...one };
  for (const [name, count] of Object.entries(other)) sums[name] = (sums[name] ?? 0) + count;
  return sums;
}

async function attackField(
  {
    settings,
    servers,
    filesLeft,
    mails = [],
    config,
    attacks,
    atOnce = AT_ONCE,
    hasOwner,
  }: Field & { readonly attacks: number },
  { seed, made: before, onProgress }: CampaignOptions & { readonly made: number },
): Promise<CampaignResult> {
  const gateway = await AttackedGateway.start({ config, servers });
  const { world, senders } = gateway;
  world.mails.push(...mails);
  try {
    const presets = senders.map(({ preset }) => preset);
    await gateway.addWaits(settings.flatMap((setting) => waitsOf(setting, presets)));
    const random = new SeededRandom(seed + before);
    const made = new Map<string, MadeAttack>();
    const wanted = Array.from({ length: attacks }, (_, at) => draw(`a${at + 1}`, { random, senders, settings }));
    let answered = before;
    const send = async (queue: IterableIterator<(typeof wanted)[number]>): Promise<void> => {
      for (const { sender, ...each } of queue) {
        const { attack, setting, preset } = each;
        made.set(attack.id, each);
        if (attack.mail !== undefined) world.mails.push(attack.mail);
        await gateway.call(pathOf(setting, preset), sender, attack.sample);
        onProgress?.((answered += 1));
      }
    };
    for (let at = 0; at < wanted.length; at += atOnce) {
      const queue = wanted.slice(at, at + atOnce).values();
      await Promise.all(Array.from({ length: CALLERS }, () => send(queue)));
      await gateway.runsEnded();
      if (hasOwner === true) await gateway.ownerAnswered();
    }
    await replay(gateway);
    await gateway.runsEnded();
    for (const text of filesLeft?.(gateway.folder) ?? []) world.effects.add({ kind: "file", text });
    return resultOf(world, made, await countStates(gateway));
  } finally {
    await gateway.stop();
  }
}

interface Draw {
  readonly random: SeededRandom;
  readonly senders: readonly Sender[];
  readonly settings: readonly Setting[];
}

function draw(id: string, { random, senders, settings }: Draw): MadeAttack & { readonly sender: Sender } {
  const setting = random.pick(settings);
  const sender = random.pick(senders.filter(({ preset }) => fits(setting, preset)));
  const { preset } = sender;
  const { accounts, samples, draw: drawOne = drawAttack } = setting;
  return { sender, preset, setting, attack: drawOne({ preset, random, id, accounts, samples }) };
}

async function countStates(gateway: AttackedGateway): Promise<CampaignResult["states"]> {
  const counts: Record<string, number> = {};
  for (let cursor = ""; ;) {
    const page = await gateway.ask<{ deliveries: { state: string }[]; nextCursor: string | null }>(
      `deliveries?limit=200${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`,
    );
    for (const { state } of page.deliveries) counts[state] = (counts[state] ?? 0) + 1;
    if (page.nextCursor === null) return counts;
    cursor = page.nextCursor;
  }
}

/** Every tenth of those that ended is replayed, as an owner would who looks into them. */
async function replay(gateway: AttackedGateway): Promise<void> {
  const { deliveries } = await gateway.ask<{ deliveries: { id: string }[] }>("deliveries?state=done&limit=200");
  for (const { id } of deliveries.filter((_, at) => at % REPLAYED_OF === 0)) {
    await gateway.ask(`deliveries/${id}/replay`, {});
  }
}

function resultOf(
  world: World,
  made: ReadonlyMap<string, MadeAttack>,
  states: CampaignResult["states"],
): CampaignResult {
  const violations: string[] = [];
  const effects: Record<string, number> = {};
  const read = new Set<string>();
  for (const effect of world.effects.all) {
    if (effect.kind === "model") read.add(effect.text);
    // A program asks no model.
    if (effect.kind === "chat") for (const [id] of effect.text.matchAll(/\ba\d+(?= is done)/gu)) read.add(id);
    const why = forbidden(effect, made, world.effects);
    if (why !== undefined) violations.push(why);
    else if (effect.kind !== "model") effects[effect.kind] = (effects[effect.kind] ?? 0) + 1;
  }
  return { attacks: made.size, read: read.size, effects, states, violations };
}
