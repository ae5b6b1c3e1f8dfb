/** What a configuration that is easily written leads to: secrets in prompts, too wide a path, a preset as it is. */
import type { BenchConfig, BenchHost } from "./bench-host.ts";
import type { Finding } from "./finding.ts";
import { untilQuiet } from "./quiet.ts";
import { BUILT_IN, REVEILLE, SIDES } from "./side.ts";
import type { Side } from "./side.ts";

const QUIET_MS = 30_000;

const HEADERS_MODULE = "bench-headers.mjs";
const HEADERS_SOURCE = "export default ({ headers }) => ({ text: `By transform: <${headers.authorization}>` });\n";
const SHOWING: BenchConfig = {
  both: {
    mappings: [
      {
        id: "by-template",
        match: { path: "by-template" },
        action: "wake",
        textTemplate: "By template: <{{headers.authorization}}>",
      },
      {
        id: "by-transform",
        match: { path: "by-transform" },
        action: "wake",
        textTemplate: "Not shaped.",
        transform: { module: HEADERS_MODULE },
      },
    ],
  },
};

const WIDE = "///";
/** The preset names sessions by a template, which the built-in hooks allow only on request. */
const STOCK_GMAIL: BenchConfig = {
  both: { presets: ["gmail"], allowRequestSessionKey: true, allowedSessionKeyPrefixes: ["hook:"] },
  hasRecipient: false,
};
const MAIL = {
  source: "gmail",
  messages: [{ id: "m1", from: "Ada", subject: "Hello", snippet: "Dear [say mail]", body: "Dear you" }],
};

export async function measureSettings(host: BenchHost): Promise<Finding[]> {
  return [await showToken(host), await widenPath(host), await takeMail(host)];
}

/** How many of two prompts hold the live hook token. */
async function showToken(host: BenchHost): Promise<Finding> {
  const experiment = "a template and a transform that show the header `Authorization`";
  const found: Partial<Record<Side["name"], { readonly told: number; readonly withToken: number }>> = {};
  host.writeTransform(HEADERS_MODULE, HEADERS_SOURCE);
  for (const side of SIDES) {
    await host.restart(SHOWING);
    const from = host.model.calls.length;
    for (const path of ["/by-template", "/by-transform"] as const) await host.post(side, path, { word: "any" });
    const prompts = (): string =>
      host.model.calls
        .slice(from)
        .map(({ prompt }) => prompt)
        .join("\n");
    const told = (): number => ["By template: <", "By transform: <"].filter((text) => prompts().includes(text)).length;
    await untilQuiet(told, { quietMs: QUIET_MS, until: 2 });
    const shown = ["By template", "By transform"].filter((by) => prompts().includes(`${by}: <Bearer ${side.token}>`));
    found[side.name] = { told: told(), withToken: shown.length };
    console.error(`${experiment}, ${side.name}: ${JSON.stringify(found[side.name])}`);
  }
  const { [BUILT_IN.name]: builtIn, [REVEILLE.name]: reveille } = found as Record<
    Side["name"],
    { told: number; withToken: number }
  >;
  const inWords = ({ told, withToken }: typeof builtIn): string =>
    `${told} prompts, **${withToken}** with the live hook token in it`;
  return {
    experiment,
    builtIn: inWords(builtIn),
    reveille: inWords(reveille),
    failures: [
      ...(reveille.told === 2 ? [] : [`${experiment}: Reveille has told the agent ${reveille.told} times.`]),
      ...(reveille.withToken === 0 ? [] : [`${experiment}: Reveille has shown the token.`]),
    ],
    figures: found,
  };
}

/** True when a path outside of the hooks is one with a prefix of slashes. */
async function widenPath(host: BenchHost): Promise<Finding> {
  const experiment = `\`path: "${WIDE}"\``;
  await host.restart({ builtIn: { path: WIDE } });
  const outside = { ...BUILT_IN, prefix: "" };
  const { status } = await host.post(outside, "/wake", { text: "Not below the hooks." });
  let refusal = "";
  try {
    await host.restart({ reveille: { path: WIDE } });
  } catch (error) {
    const said = String(error).replaceAll("\\", "").replaceAll('"', "'");
    refusal = /config\.path: [^;\n]*/.exec(said)?.[0] ?? said.slice(0, 200);
  }
  console.error(`${experiment}: ${status}, ${JSON.stringify(refusal)}`);
  const isRefused = refusal.includes("config.path");
  return {
    experiment,
    builtIn: `taken; \`POST /wake\` is answered **${status}**`,
    reveille: isRefused ? `refused, and nothing is served: "${refusal}"` : "taken",
    failures: isRefused ? [] : [`${experiment}: Reveille does not refuse it.`],
    figures: { builtIn: { status }, reveille: { refusal } },
  };
}

interface Mailed {
  readonly status: number;
  /** The text about the run in the main session. */
  readonly told: string | undefined;
}

/** What happens to a mail when no one says to whom the run's reply goes. */
async function takeMail(host: BenchHost): Promise<Finding> {
  const experiment = "the preset `gmail` as it is, one mail, no recipient anywhere";
  const found: Partial<Record<Side["name"], Mailed>> = {};
  for (const side of SIDES) {
    await host.restart(STOCK_GMAIL);
    const from = host.model.calls.length;
    const { status } = await host.post(side, "/gmail", MAIL);
    const told = (): string | undefined => {
      const ofMain = host.model.calls.slice(from).filter(({ word }) => word === undefined);
      return /Hook Gmail[^"\\\n]*|Done: mail/.exec(ofMain.map(({ prompt }) => prompt).join("\n"))?.[0].trim();
    };
    await untilQuiet(() => (told() === undefined ? 0 : 1), { quietMs: QUIET_MS, until: 1 });
    found[side.name] = { status, told: told() };
    console.error(`${experiment}, ${side.name}: ${JSON.stringify(found[side.name])}`);
  }
  const { [BUILT_IN.name]: builtIn, [REVEILLE.name]: reveille } = found as Record<Side["name"], Mailed>;
  const inWords = ({ status, told }: Mailed): string =>
    `answered ${status}; the main session is told ${told === undefined ? "nothing" : `"${told}"`}`;
  const isDone = reveille.told?.startsWith("Hook Gmail: ") === true;
  return {
    experiment,
    builtIn: inWords(builtIn),
    reveille: inWords(reveille),
    failures: isDone ? [] : [`${experiment}: the main session has not heard of the reply through Reveille.`],
    figures: found,
  };
}
