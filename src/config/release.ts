/** `release` of a mapping: an event of someone whom the owner trusts releases what is held of the same object. */
import Type, { type Static } from "typebox";
import { type Level, LEVELS } from "../core/delivery.ts";
import { template, text } from "./schema-parts.ts";

export const ReleaseSchema = Type.Object(
  {
    on: Type.Array(text({ description: "", title: "the name of an event", pattern: "\\S" }), {
      minItems: 1,
      maxItems: 100,
      description: "Events that approve, by the preset's names such as `issues.labeled`. They start no run themselves.",
    }),
    when: Type.Optional(
      text({
        description: "A condition like `when` of the mapping that such an event has to meet as well.",
        title: "a condition",
        maxLength: 4_096,
        pattern: "\\S",
      }),
    ),
    by: Type.Optional(
      Type.Enum(["trusted", "owner"], {
        description:
          "The least level of the account that acts, by `actors` and the preset's roles; never a bot. Absent: `trusted`.",
      }),
    ),
    object: template(
      "What an event is about, such as `{{repository.id}}/{{issue.number}}`: a template over the signed payload, rendered for the held event and for the one that approves. Every placeholder has to print something. Absent: as the preset knows.",
    ),
    text: template(
      "The text that is approved, rendered like `object`: what is held is released only where both events have the same. Absent: as the preset knows; with `object`, none is compared, and what is held in several versions stays held.",
    ),
  },
  {
    additionalProperties: false,
    description:
      "Lets an event release what `minLevel` holds: a label or a reaction of someone whom you trust, on the same object. What is released is what was held. Needs `preset`, and a sender that signs the body.",
  },
);

export interface ReleaseConfig {
  readonly on: readonly string[];
  readonly when: string | undefined;
  readonly by: Level;
  /** Templates; `undefined`: as the preset knows. */
  readonly object: string | undefined;
  readonly text: string | undefined;
}

export function readRelease({ on, when, by, object, text: shown }: Static<typeof ReleaseSchema>): ReleaseConfig {
  return { on: on.map((event) => event.trim()), when, by: by ?? "trusted", object, text: shown };
}

/** True for a level that may approve. */
export function mayApprove(level: Level | undefined, { by }: ReleaseConfig): boolean {
  return level !== undefined && LEVELS.indexOf(level) >= LEVELS.indexOf(by);
}
