/** Named senders, `hooks.senders.<name>`: several webhooks of one preset, each with its own path, secret and settings. */
import Type, { type Static } from "typebox";
import type { Findings } from "./errors.ts";
import { GMAIL, GmailSchema } from "./gmail.ts";
import { type ObjectSchema, type PresetBlockInput, presetBlockSchema, type PresetPart } from "./preset.ts";
import { compileSchemaCheck, type SchemaCheck, type SchemaIssue } from "./schema-check.ts";
import { text } from "./schema-parts.ts";
import { closestKey, showKeyPath, showNames, showValue } from "./show-value.ts";

const MAX_SENDERS = 1_000;
/** A name is a path, an id in lists and a word on the command line. */
const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/;

/** `hooks.senders`. The schema of an entry follows from its preset: {@link checkSenders}. */
export const SendersSchema = Type.Record(
  Type.String(),
  Type.Object(
    { preset: text({ description: "The preset of the sender." }) },
    {
      title: "an object of settings",
      description:
        "One sender: `preset` and, besides it, the keys of `hooks.<preset>`. `path` is its name when absent.",
    },
  ),
  {
    maxProperties: MAX_SENDERS,
    title: "an object of senders by their names",
    description:
      "Further senders by names of your own, for several webhooks of one preset. Each has its own path, secret and settings and takes nothing from `hooks.<preset>`.",
  },
);

/** `hooks.senders.<name>` as written. */
export type SenderBlockInput = Static<typeof SendersSchema>[string] & PresetBlockInput;

const checks = new WeakMap<PresetPart, SchemaCheck>();

/** The issues of the `senders` of a `hooks` block: their names, and their keys by the schemas of their presets. */
export function checkSenders(hooks: unknown, presets: ReadonlyMap<string, PresetPart>): SchemaIssue[] {
  if (typeof hooks !== "object" || hooks === null || !("senders" in hooks)) return [];
  const { senders } = hooks;
  if (typeof senders !== "object" || senders === null || Array.isArray(senders)) return [];
  return Object.entries(senders).flatMap(([name, block]: [string, unknown]) => {
    const keys = ["senders", name];
    const path = showKeyPath(["hooks", ...keys]);
    if (!NAME.test(name))
      return [{ keys, path, message: 'is not a name of lower-case letters, digits, ".", "_" and "-"' }];
    const preset = presets.get(presetNameOf(block) ?? "");
    if (preset === undefined) return [];
    return checkOf(preset)(block).map((issue) => ({
      keys: [...keys, ...issue.keys],
      path: showKeyPath(["hooks", ...keys, ...issue.keys]),
      message: issue.message,
    }));
  });
}

/** Refuses a sender whose preset does not exist or whose name is that of an enabled preset. */
export function checkSenderNames(
  senders: ReadonlyMap<string, SenderBlockInput>,
  { known, enabled }: { readonly known: readonly string[]; readonly enabled: readonly string[] },
  findings: Findings,
): void {
  for (const [name, { preset }] of senders) {
    const where = showKeyPath(["hooks", "senders", name]);
    const wanted = preset.trim();
    if (!known.includes(wanted)) {
      const closest = closestKey(wanted, known);
      const hint = closest === undefined ? `known are ${showNames(known)}` : `did you mean "${closest}"?`;
      findings.refuse(`${where}.preset`, `${showValue(wanted)} is not a preset; ${hint}`);
    }
    if (enabled.includes(name)) {
      findings.refuse(where, `has the name of a preset in hooks.presets; give one of them another name`);
    }
  }
}

function presetNameOf(block: unknown): string | undefined {
  if (typeof block !== "object" || block === null || !("preset" in block)) return undefined;
  return typeof block.preset === "string" ? block.preset.trim() : undefined;
}

function checkOf(preset: PresetPart): SchemaCheck {
  let check = checks.get(preset);
  if (!check) checks.set(preset, (check = compileSchemaCheck(senderBlockSchema(preset))));
  return check;
}

function senderBlockSchema(preset: PresetPart): ObjectSchema {
  const { path, ...common } = presetBlockSchema(preset).properties;
  const own = preset.name === GMAIL ? (JSON.parse(JSON.stringify(GmailSchema)) as ObjectSchema).properties : common;
  return {
    type: "object",
    properties: { preset: { type: "string" }, ...(path && { path }), ...own },
    additionalProperties: false,
  };
}
