/**
 * `npm run persuaded [-- <attacks> [<seed>]]`: attacks a gateway whose agents obey every order that they read, and
 * counts what reaches the world. Without a number there are 5,000 attacks. Then breaks each defense once and shows that
 * this is counted. Ends with 1 when an effect was forbidden, or when a broken defense was not noticed.
 */
import { spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { fileURLToPath } from "node:url";
import { BREAK_VARIABLE, BREAKS } from "./breaks.ts";
import { campaign, type CampaignResult } from "./campaign.ts";

const ATTACKS_OF_BREAK = 120;
const SHOWN = 20;
const PROGRESS_EVERY = 100;

const [attacks = "5000", seed = String(randomInt(1, 1_000_000_000)), ...settings] = process.argv.slice(2);
const chosen = settings.length > 0 ? { settings } : {};
if (process.env[BREAK_VARIABLE] === undefined) await proveAll();
else console.log(JSON.stringify(await campaign({ attacks: Number(attacks), seed: Number(seed), ...chosen })));

async function proveAll(): Promise<void> {
  console.log(
    `${attacks} attacks, seed ${seed}; repeat with: npm run persuaded -- ${[attacks, seed, ...settings].join(" ")}`,
  );
  const onProgress = (made: number): void => {
    if (made % PROGRESS_EVERY === 0) process.stderr.write(`\r${made} of ${attacks} `);
  };
  const result = await campaign({ attacks: Number(attacks), seed: Number(seed), ...chosen, onProgress });
  process.stderr.write("\r");
  console.log(`${result.read} of ${result.attacks} attacks were read and obeyed by an agent.`);
  console.log(`deliveries: ${counts(result.states)}`);
  console.log(`effects that the configuration allows: ${counts(result.effects)}`);
  console.log(`forbidden effects: ${result.violations.length}`);
  for (const line of result.violations.slice(0, SHOWN)) console.log(`  ${line}`);
  const unnoticed = settings.length > 0 ? [] : BREAKS.filter((each) => countBroken(each) === 0);
  if (result.violations.length > 0 || unnoticed.length > 0) process.exitCode = 1;
}

function counts(by: Readonly<Record<string, number>>): string {
  return Object.entries(by)
    .map(([name, count]) => `${count} ${name}`)
    .join(", ");
}

/** The forbidden effects with that defense broken. */
function countBroken({ name, settings: shown, attacks = ATTACKS_OF_BREAK }: (typeof BREAKS)[number]): number {
  const preload = new URL("broken.ts", import.meta.url).href;
  const command = ["--import", preload, fileURLToPath(import.meta.url), String(attacks), seed, ...shown];
  const env = { ...process.env, [BREAK_VARIABLE]: name };
  const { stdout, stderr, status } = spawnSync(process.execPath, command, { env, encoding: "utf8" });
  if (status !== 0) throw new Error(`The campaign with a broken defense failed: ${name}\n${stderr}`);
  const { violations } = JSON.parse(stdout) as CampaignResult;
  console.log(
    `broken: ${name}: ${violations.length} forbidden effects${violations.length === 0 ? ", NOT NOTICED" : ""}`,
  );
  return violations.length;
}
