import { BUILT_IN_PRESETS } from "../src/presets/built-in.ts";
import type { Preset, PresetContext, PresetEvent } from "../src/presets/preset.ts";
import { schemeName } from "../src/presets/preset.ts";

const INTRODUCTION = `# Senders

<!-- Made from src/presets/ by scripts/generate.ts: change a preset and run it again. -->

Each of these senders has a preset: it knows how the sender proves who it is, how it shakes hands, what it sends and what people want to read of it. \`reveille add <name>\` does all of it in one command, for some of them also [at the sender](presets.md#connect-both-ends). By hand:

1. Write its name into \`hooks.presets\` and its secret into \`hooks.<name>.secret\` ([how presets are configured](presets.md)).
2. Paste the URL, \`https://<your gateway>/hooks/<name>\`, and the secret where the last column says.
3. Try it: \`npm run reveille -- send <name>\` signs a sample as the sender would and posts it.

A sender that is not in the list can be described in [\`auth\` of a mapping](presets.md#a-sender-without-a-preset), or by [a preset of your own](../extend/writing-a-preset.md).

`;

/** The page of all senders: \`docs/use/senders.md\`. */
export function sendersPage(): string {
  const presets = BUILT_IN_PRESETS.toSorted((left, right) => (left.name < right.name ? -1 : 1));
  const table = [
    "<!-- prettier-ignore -->",
    "| sender | preset | proves who it is by | handshake | delivery id | what to paste where |",
    "|---|---|---|---|---|---|",
    ...presets.map(row),
  ].join("\n");
  return `${INTRODUCTION}${table}\n\n\\* Not covered by the sender's signature: it identifies an honest second try, and is never the only guard against a copy.\n\n${answers(presets)}\n${presets.map(section).join("")}`;
}

const ANSWERS = `## The answer that each sender takes

An accepted call is answered 200 with \`{ ok, runId, deliveryId }\`, unless the sender needs another answer, which the second column names. \`hooks.<name>.respond.status\` sets another status. The last two columns follow the sender's documentation as far as it says so; test a sender that disables hooks before you rely on them.

<!-- prettier-ignore -->
| preset | accepted calls are answered | the sender takes as success | after any other answer it |
|---|---|---|---|`;

function answers(presets: readonly Preset[]): string {
  const rows = presets.map((preset) => {
    const { name, success } = preset;
    const cells = [`\`${name}\``, answered(preset), success?.statuses ?? "2xx", success?.otherwise ?? "see its page"];
    return `| ${cells.map(escape).join(" | ")} |`;
  });
  return [ANSWERS, ...rows].join("\n");
}

/** The status of the answers to the samples that have an event for an agent. */
function answered(preset: Preset): string {
  const statuses = Object.values(preset.samples).map(({ headers = {}, query = {}, payload }) => {
    const request = { headers, query, payload: preset.unwrap(payload), path: preset.name, now: "", settings: {} };
    const context = { ...request, actor: undefined } as unknown as PresetContext;
    const event: PresetEvent = { ...context, event: preset.eventOf(context) };
    return String(preset.answer(event)?.status ?? 200);
  });
  return [...new Set(statuses)].join(" or ");
}

function row(preset: Preset): string {
  const cells = [
    `[${preset.title}](${preset.documentation})`,
    `[\`${preset.name}\`](#${preset.name})`,
    schemeName(preset),
    [...new Set(preset.handshakes.map(({ name }) => name))].join(", ") || "none",
    deliveryId(preset),
    pasteWhere(preset),
  ];
  return `| ${cells.map(escape).join(" | ")} |`;
}

function deliveryId({ deliveryIdSource, deliveryIdSigned }: Preset): string {
  if (deliveryIdSource === undefined) return "none";
  return `\`${deliveryIdSource}\`${deliveryIdSigned ? "" : "\\*"}`;
}

/** The steps that speak of the URL or the secret. */
function pasteWhere({ setup, secret }: Preset): string {
  return setup
    .filter((step) => step.includes("{url}") || step.includes("{secret}"))
    .map((step) => fillIn(step, secret?.label).replace(/(?<![.:;])$/u, "."))
    .join(" ");
}

function section({ name, title, secret, settings, setup, samples, eventSource, ignored }: Preset): string {
  const required = new Set(settings?.required);
  const keys = Object.entries(settings?.properties ?? {}).map(([key, schema]) => {
    const description = "description" in schema && typeof schema.description === "string" ? schema.description : "";
    return `\`hooks.${name}.${key}\`${required.has(key) ? " (required)" : ""}${description === "" ? "" : `: ${description}`}`;
  });
  const secretLine = secret
    ? [`\`hooks.${name}.secret\`${secret.required ? " (required)" : ""}: ${secret.label}, ${madeBy(secret.madeBy)}.`]
    : [];
  const list = [...secretLine, ...keys].map((line) => `- ${line}`).join("\n");
  const steps = setup.map((step, at) => `${at + 1}. ${fillIn(step, secret?.label)}`).join("\n");
  const event =
    eventSource === undefined ? "" : `Event: ${eventSource.includes(":") ? `\`${eventSource}\`` : eventSource}. `;
  return `
## ${name}

${title}. ${event}Samples: ${Object.keys(samples)
    .map((sample) => `\`${sample}\``)
    .join(", ")}.
${ignored === undefined ? "" : `\nWakes no agent by default: ${ignored}.\n`}${list === "" ? "" : `\n${list}\n`}
${steps}
`;
}

function madeBy(maker: "owner" | "sender"): string {
  return maker === "owner" ? "which you choose, for example with `openssl rand -hex 24`" : "which the sender shows";
}

function fillIn(step: string, label = "secret"): string {
  return step.replaceAll("{url}", "`{url}`").replaceAll("{secret}", label);
}

function escape(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ");
}
