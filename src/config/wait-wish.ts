/** What is waited for, as people, clients, agents and mappings write it. */
import Type, { type Static } from "typebox";
import { LEVELS } from "../core/level.ts";
import type { Wait, WaitMatch } from "../core/wait.ts";
import { readCondition } from "./condition-syntax.ts";

const MAX_MATCHES = 8;
/** Characters of a correlated value. */
export const MAX_VALUE = 256;
/** Characters of a note. */
export const MAX_NOTE = 1_000;
export const strict = { additionalProperties: false } as const;
export const boundedText = (description: string, maxLength = MAX_VALUE) =>
  Type.Optional(Type.String({ minLength: 1, maxLength, description }));

const matchProperties = {
  hook: boundedText("The id of a mapping whose calls are meant."),
  sender: boundedText("The name of a preset whose events are meant, whatever the mapping."),
  event: boundedText("The event's name, such as `workflow_run.completed`; `*` matches any characters."),
  when: boundedText("A condition in CEL over `payload`, `headers`, `query`, `event` and `actor`.", 2_000),
  correlation: Type.Optional(
    Type.Object(
      {
        path: Type.String({ minLength: 1, maxLength: 256, description: "A path in the payload: `deployment.id`." }),
        equals: Type.String({ minLength: 1, maxLength: MAX_VALUE, description: "The value there, as a text." }),
      },
      { ...strict, description: "A value that tells the event from those that look like it." },
    ),
  ),
};

const matches = (description: string) =>
  Type.Optional(Type.Array(Type.Object(matchProperties, strict), { minItems: 1, maxItems: MAX_MATCHES, description }));

export const conditionProperties = {
  ...matchProperties,
  all: matches("Several events, each of which must come."),
  any: matches("Several events, one of which must come."),
  none: matches("Events of which none may come for `quietSeconds`, counted from when the rest has come."),
  quietSeconds: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 2_592_000, description: "How long none of `none` comes." }),
  ),
};

/** What an agent or a mapping says of a wait; its own session is resumed. */
export const wishProperties = {
  ...conditionProperties,
  note: boundedText("What is waited for and why, for the session when it is resumed.", MAX_NOTE),
  withinSeconds: Type.Integer({
    minimum: 1,
    maximum: 31_536_000,
    description: "After this time the session is resumed with the fact that nothing came.",
  }),
  times: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000,
      description: "How often it resumes the session before it ends. Default: 1.",
    }),
  ),
  minLevel: Type.Optional(
    Type.Enum([...LEVELS], { description: "The least level of an actor whose event counts. Default: `unknown`." }),
  ),
  instead: Type.Optional(
    Type.Boolean({ description: "True: an event that counts does not begin the mapping's own run. Default: false." }),
  ),
};

const WaitedEventsSchema = Type.Object(conditionProperties, strict);
type WaitedEvents = Static<typeof WaitedEventsSchema>;
export const WaitWishSchema = Type.Object(wishProperties, strict);
export type WaitWish = Static<typeof WaitWishSchema>;

type Matches = Pick<Wait, "all" | "any" | "none">;
export type WaitCondition = Matches & Pick<Wait, "quietMs">;

/** What tells of a mapping whether it is a hook or of a sender that is waited for. */
interface KnownHook {
  readonly id: string;
  readonly preset: string | undefined;
}

/** Thrown for a wait that cannot be made; the message is written for whoever asked. */
export class WaitRefused extends Error {
  override readonly name = "WaitRefused";
}

/** What is waited for, as far as that is known without the mappings. Throws a {@link WaitRefused}. */
export function readWaitCondition(wish: WaitedEvents & { readonly withinSeconds?: number }): WaitCondition {
  const { all = [], any = [], none = [], quietSeconds, hook, sender, event, when, correlation } = wish;
  const hasOne = [hook, sender, event, when, correlation].some((part) => part !== undefined);
  if (hasOne && all.length + any.length > 0) {
    throw new WaitRefused("Write the event either by itself or in all and any.");
  }
  const condition = { all: hasOne ? [{ hook, sender, event, when, correlation }] : all, any, none };
  if (Object.values(condition).every((list) => list.length === 0)) {
    throw new WaitRefused("It waits for nothing: name a hook or a sender.");
  }
  if (none.length > 0 !== (quietSeconds !== undefined)) {
    throw new WaitRefused("none and quietSeconds go together: none of these for so long.");
  }
  if (quietSeconds !== undefined && quietSeconds > (wish.withinSeconds ?? Infinity)) {
    throw new WaitRefused("quietSeconds is longer than withinSeconds.");
  }
  for (const [list, match] of matchesOf(condition)) {
    const problem = matchProblem(match);
    if (problem !== undefined) throw new WaitRefused(`In ${list}: ${problem}.`);
  }
  return { ...condition, quietMs: (quietSeconds ?? 0) * 1_000 };
}

/** Why no event can ever be meant: there is no such hook or sender. */
export function unknownHook(mappings: readonly KnownHook[], condition: Matches): string | undefined {
  for (const [list, { hook, sender }] of matchesOf(condition)) {
    if (mappings.some(({ id, preset }) => (hook === undefined ? preset === sender : id === hook))) continue;
    const missing =
      hook === undefined
        ? `no mapping has the preset ${JSON.stringify(sender)}`
        : `there is no mapping ${JSON.stringify(hook)}`;
    return `In ${list}: ${missing}.`;
  }
  return undefined;
}

/** Each match with the list that it is in. */
function matchesOf({ all, any, none }: Matches): (readonly [string, WaitMatch])[] {
  const first = all.length === 1 && any.length === 0 ? "the event" : "all";
  const named = (list: string) => (match: WaitMatch) => [list, match] as const;
  return [...all.map(named(first)), ...any.map(named("any")), ...none.map(named("none"))];
}

function matchProblem({ hook, sender, when }: WaitMatch): string | undefined {
  if ((hook === undefined) === (sender === undefined)) return "name either a hook or a sender";
  const syntax = when === undefined ? undefined : readCondition(when);
  return syntax?.ok === false ? `when ${syntax.problem}` : undefined;
}
