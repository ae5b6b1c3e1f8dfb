/** `reveille catch-up`: takes what a sender could not deliver and what is not here. */
import { isDeepStrictEqual } from "node:util";
import { readPointInTime } from "../../api/selection.ts";
import type { MappingConfig } from "../../config/mapping/schema.ts";
import { reasonOf } from "../../core/reason-of.ts";
import { CliError, isForOwner } from "../errors.ts";
import { askGateway, reachGateway } from "../gateway-client.ts";
import type { GatewayAccess, GatewayCommandOptions } from "../gateway.ts";
import type { CliIo } from "../io.ts";
import { knownPresets, presetNamed, senderNamed, urlOf } from "../presets-command.ts";
import { ProgressBar } from "../progress-bar.ts";
import { printable } from "../terminal-text.ts";
import { textTable } from "../text-table.ts";
import { placeOf, type PlaceOptions, readBase, readToken, REGISTRARS, type TokenOptions } from "./connection.ts";
import { GithubDeliveries } from "./github-deliveries.ts";
import { findGithubHook } from "./github-webhooks.ts";
import { idsHere } from "./ids-here.ts";
import type { MissedCall, Redelivery, TakeOutcome } from "./redelivery.ts";
import type { Registrar } from "./registrar.ts";
import { Registrations } from "./registrations.ts";
import { SenderApi } from "../../hosts/embedded/subscriptions/sender-api.ts";
import { StripeEvents } from "./stripe-events.ts";
import { findStripeEndpoint } from "./stripe-webhooks.ts";

export interface CatchUpOptions extends GatewayCommandOptions, TokenOptions, PlaceOptions {
  readonly since: string;
  readonly api?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

type Outcome = TakeOutcome | "is here" | "left" | "would be taken";
const CELL_CHARS = 60;

/** Resolves with the exit code: 0 when all that was missed is here. */
export async function catchUp(name: string, options: CatchUpOptions, io: CliIo): Promise<number> {
  const since = readSince(options.since);
  const isDry = options.dryRun === true;
  const mustAsk = !isDry && options.yes !== true;
  if (mustAsk && (io.confirm === undefined || options.json === true)) {
    throw new CliError("This takes every call that fits. Look at them with --dry-run first, then add --yes.");
  }
  const access = await reachGateway(options, io);
  // Before the sender is asked for anything.
  await askGateway(access, "/deliveries?limit=1");
  const { redelivery, mapping } = await redeliveryOf(name, access, options, io);
  const { calls, isCut } = await redelivery.missed(since);
  const bar = new ProgressBar(io, options.json === true);
  const here = await idsHere(access, { route: mapping.match.path ?? "", calls, redelivery, bar });
  bar.end();
  const missing = calls.filter(({ id }) => !here.has(id));
  const outcomes = new Map<string, Outcome>(
    calls.map(({ id }) => [id, here.has(id) ? "is here" : isDry ? "would be taken" : "left"]),
  );
  let problem: string | undefined;
  if (!isDry && missing.length > 0) {
    if (mustAsk) {
      io.err(tableOf(missing, new Map(missing.map(({ id }) => [id, "would be taken"]))));
      if (!(await io.confirm!(`${missing.length} would be taken. Continue?`))) {
        io.err("Nothing was taken.\n");
        return 1;
      }
    }
    problem = await take(redelivery, missing, outcomes, bar);
  }
  const took = (outcome: string): number => [...outcomes.values()].filter((each) => each === outcome).length;
  const isDone = missing.every(({ id }) => outcomes.get(id) === "taken");
  if (options.json === true) {
    const listed = calls.map((call) => ({ ...call, outcome: outcomes.get(call.id) }));
    const sums = { taken: took("taken"), here: here.size, missed: calls.length, more: isCut };
    const document = {
      sender: name,
      since: new Date(since).toISOString(),
      dryRun: isDry,
      ...sums,
      problem,
      calls: listed,
    };
    io.out(`${JSON.stringify(document, undefined, 2)}\n`);
  } else {
    if (calls.length > 0) io.out(`${tableOf(calls, outcomes)}\n`);
    const first =
      calls.length === 0
        ? `${redelivery.title} has delivered everything`
        : `Not delivered by ${redelivery.title}: ${calls.length}`;
    const rest = calls.length === 0 ? "" : ` Here all the same: ${here.size}. Taken: ${took("taken")}.`;
    io.out(`${first} since ${new Date(since).toISOString().slice(0, 19)}Z.${rest}\n`);
    if (isCut) io.out("There are more than are read at once: give the command again with a later --since.\n");
  }
  if (problem !== undefined) io.err(`${problem}\nWhat is left is taken when the command is given again.\n`);
  return isDry || (isDone && problem === undefined) ? 0 : 1;
}

/** Resolves with what it was stopped by. */
async function take(
  redelivery: Redelivery,
  missing: readonly MissedCall[],
  outcomes: Map<string, Outcome>,
  bar: ProgressBar,
): Promise<string | undefined> {
  let done = 0;
  bar.show({ done, total: missing.length, what: "calls" });
  try {
    await redelivery.take(missing, ({ id }, outcome) => {
      outcomes.set(id, outcome);
      bar.show({ done: ++done, total: missing.length, what: "calls" });
    });
    return undefined;
  } catch (error) {
    if (!isForOwner(error)) throw error;
    return error.message;
  } finally {
    bar.end();
  }
}

async function redeliveryOf(
  name: string,
  access: GatewayAccess,
  options: CatchUpOptions,
  io: CliIo,
): Promise<{ readonly redelivery: Redelivery; readonly mapping: MappingConfig }> {
  const { presets, loaded } = await knownPresets(options, io);
  const sender = senderNamed(loaded, name);
  const preset = presetNamed(presets, sender?.preset ?? name);
  const mapping = sender ?? loaded?.active.config.mappings.find((each) => each.preset === name);
  if (loaded === undefined || mapping === undefined) {
    throw new CliError(`The configuration does not have ${name}: ${io.gateway.program} add ${name}`);
  }
  const registrar = REGISTRARS.find((each) => each.preset === preset.name);
  if (registrar === undefined || (preset.name !== "github" && preset.name !== "stripe")) {
    throw new CliError(`${preset.title} cannot be asked for what it did not deliver. GitHub and Stripe can.`);
  }
  const kept = Registrations.beside(io.gateway.locate(options).configFile).of(name);
  const given = placeOf(registrar, options);
  const registered = given === undefined ? kept[0] : kept.find((each) => isDeepStrictEqual(each.place, given));
  const api = await apiOf(registrar, options, (registered ?? kept[0])?.api, io);
  const url = urlOf(mapping.match.path ?? name, { loaded, defaultPath: io.gateway.defaultPath });
  if (preset.name === "stripe") {
    const endpoint = await findStripeEndpoint(api, { url });
    if (endpoint === undefined) throw new CliError(`Stripe has no endpoint that calls ${url}.`);
    const here = `${access.url}${loaded.active.config.path}/${mapping.match.path}`;
    return { mapping, redelivery: new StripeEvents(api, { mapping, url: here, endpoint }) };
  }
  const place = given ?? (kept.length === 1 ? kept[0]!.place : undefined) ?? undefined;
  if (place === undefined) throw new CliError("Say where at GitHub: --repo owner/name or --org name");
  const hookId = registered?.id ?? (await findGithubHook(api, place, { url }));
  if (hookId === undefined) throw new CliError(`${place.name} has no webhook that calls ${url}.`);
  return { mapping, redelivery: new GithubDeliveries(api, place, hookId) };
}

async function apiOf(
  registrar: Registrar,
  options: CatchUpOptions,
  keptApi: string | undefined,
  io: CliIo,
): Promise<SenderApi> {
  const question = `The token for ${registrar.title}, used once: ${registrar.tokenKind}: `;
  const token = await readToken(options, question, options.json === true ? { env: io.env } : io);
  if (token === undefined) {
    throw new CliError(`Give the token for ${registrar.title}: --token-env NAME or --token-file FILE`);
  }
  return new SenderApi(registrar, { base: readBase(options.api ?? keptApi ?? registrar.api), token });
}

function readSince(text: string): number {
  try {
    return readPointInTime("--since", text, Date.now());
  } catch (error) {
    throw new CliError(reasonOf(error));
  }
}

function tableOf(calls: readonly MissedCall[], outcomes: ReadonlyMap<string, Outcome>): string {
  const rows = calls.map(({ id, event, at, why }) =>
    [at.slice(0, 19), id, event, why, outcomes.get(id) ?? ""].map((cell) => printable(cell, CELL_CHARS)),
  );
  return textTable(["AT", "ID", "EVENT", "WHY", "OUTCOME"], rows);
}
