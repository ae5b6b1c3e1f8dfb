/** `reveille waits`: sessions that wait for events. */
import { readFile } from "node:fs/promises";
import ms, { type StringValue } from "ms";
import { showValue } from "../../config/show-value.ts";
import { reasonOf } from "../../core/reason-of.ts";
import type { TriedWait, WaitRequest, WaitView } from "../../index.ts";
import { AnswerError, CliError } from "../errors.ts";
import { askGateway, reachGateway } from "../gateway-client.ts";
import type { GatewayCommandOptions } from "../gateway.ts";
import type { CliIo } from "../io.ts";
import { printable } from "../terminal-text.ts";
import { textTable } from "../text-table.ts";

export interface WaitsOptions extends GatewayCommandOptions {
  readonly json?: boolean;
}

export interface AddWaitOptions extends WaitsOptions {
  readonly file?: string;
  readonly hook?: string;
  readonly sender?: string;
  readonly event?: string;
  readonly when?: string;
  readonly value?: string;
  readonly within?: string;
  readonly agent?: string;
  readonly session?: string;
  readonly note?: string;
  readonly times?: number;
  readonly minLevel?: WaitRequest["minLevel"];
  readonly instead?: boolean;
  /** Of a backtest. */
  readonly since?: string;
}

const CELL_CHARS = 60;
const LINE_CHARS = 500;

/** Prints those that are open, the next deadline first. */
export async function listWaits(options: WaitsOptions, io: CliIo): Promise<void> {
  const listed = await askGateway<{ readonly waits: readonly WaitView[] }>(await reachGateway(options, io), "/waits");
  if (options.json === true) return printJson(listed, io);
  if (listed.waits.length === 0) {
    io.out("No session waits.\n");
    return;
  }
  const rows = listed.waits.map(({ id, sessionKey, until, note, explanation, ...wait }) => [
    id,
    printable(sessionKey, CELL_CHARS),
    `${until.slice(0, 19)}Z`,
    printable(makerOf(wait), CELL_CHARS),
    printable(note === "" ? (explanation[0] ?? "") : note, CELL_CHARS),
  ]);
  io.out(textTable(["WAIT", "SESSION", "DEADLINE", "MADE BY", "FOR"], rows));
}

/** Prints one, and why it has not been fulfilled yet. */
export async function showWait(id: string, options: WaitsOptions, io: CliIo): Promise<void> {
  const wait = await known(id, io, async () => askGateway<WaitView>(await reachGateway(options, io), pathOf(id)));
  if (options.json === true) printJson(wait, io);
  else io.out(linesOf(wait));
}

/** Makes one. */
export async function addWait(options: AddWaitOptions, io: CliIo): Promise<void> {
  const body = options.file === undefined ? requestOf(options) : await requestIn(options.file);
  const made = await askGateway<WaitView>(await reachGateway(options, io), "/waits", { method: "POST", body });
  if (options.json === true) printJson(made, io);
  else io.out(linesOf(made));
}

/** Prints when one would have been fulfilled by what is stored. */
export async function backtestWait({ since, ...options }: AddWaitOptions, io: CliIo): Promise<void> {
  const written = options.file === undefined ? matchOf(options) : await requestIn(options.file);
  const { all, any, none, quietSeconds, hook, sender, event, when, correlation, minLevel }: Partial<WaitRequest> =
    written;
  const condition = { all, any, none, quietSeconds, hook, sender, event, when, correlation, minLevel };
  const request = { method: "POST", body: { ...condition, since } } as const;
  const tried = await askGateway<TriedWait>(await reachGateway(options, io), "/waits/backtest", request);
  if (options.json === true) return printJson(tried, io);
  const { looked, gone, more, counted, fired, explanation } = tried;
  const times = fired.map(({ at, deliveryId }) => `${at}  ${deliveryId ?? "by the end of its quiet time"}\n`);
  io.out(times.length === 0 ? "It would not have been fulfilled.\n" : `Fulfilled:\n${times.join("")}`);
  const without = gone === 0 ? "" : `, ${gone} without a payload`;
  const left = more ? "; older ones were not looked at" : "";
  io.out(`${counted.length} of ${looked} deliveries count${without}${left}.\n`);
  for (const line of explanation) io.out(`    ${printable(line, LINE_CHARS)}\n`);
}

/** Ends one: its session is not resumed. */
export async function cancelWait(id: string, options: WaitsOptions, io: CliIo): Promise<void> {
  const access = await reachGateway(options, io);
  const canceled = await known(id, io, () => askGateway<object>(access, pathOf(id), { method: "DELETE" }));
  if (options.json === true) printJson(canceled, io);
  else io.out(`Canceled: ${id}\n`);
}

function matchOf({ hook, sender, event, when, value, minLevel }: AddWaitOptions): Partial<WaitRequest> {
  return { hook, sender, event, when, minLevel, ...(value !== undefined && { correlation: correlationOf(value) }) };
}

function requestOf(options: AddWaitOptions): object {
  const { within, agent, session, note, times, instead } = options;
  if (within === undefined) throw new CliError("--within says how long it waits at most: 2h, 30m, 7d.");
  // The library throws for an empty text, and gives `undefined` for one that is too long or no time.
  const withinMs = within === "" ? NaN : ms(within as StringValue);
  if (!(withinMs >= 1_000))
    throw new CliError(`--within is a time such as 2h, 30m or 7d, and not ${showValue(within)}.`);
  const withinSeconds = Math.round(withinMs / 1_000);
  return { ...matchOf(options), withinSeconds, agentId: agent, sessionKey: session, note, times, instead };
}

function correlationOf(value: string): NonNullable<WaitRequest["correlation"]> {
  const at = value.indexOf("=");
  if (at < 1 || at === value.length - 1) throw new CliError("--value is a path and a value: deployment.id=7");
  return { path: value.slice(0, at), equals: value.slice(at + 1) };
}

async function requestIn(file: string): Promise<object> {
  let written: unknown;
  try {
    written = JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    throw new CliError(`${file} cannot be read as JSON: ${reasonOf(error)}`);
  }
  if (typeof written === "object" && written !== null && !Array.isArray(written)) return written;
  throw new CliError(`${file} must hold one object, such as { "hook": "deploys", "withinSeconds": 7200 }.`);
}

async function known<Result>(id: string, io: CliIo, ask: () => Promise<Result>): Promise<Result> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof AnswerError && error.status === 404)) throw error;
    throw new CliError(`No wait ${JSON.stringify(id)} is open. To find one: ${io.gateway.program} waits list`);
  }
}

/** An event of a mapping, a run of an agent, or a person. */
function makerOf({ mapping, madeBy }: Pick<WaitView, "mapping" | "madeBy">): string {
  return mapping === null ? (madeBy ?? "a person") : `the mapping ${mapping}`;
}

function linesOf({ id, sessionKey, note, times, explanation, ...wait }: WaitView): string {
  const more = times === 1 ? "" : `, ${times} times`;
  const lines = [
    `${id}  ${printable(sessionKey)}${more}`,
    `Made by ${printable(makerOf(wait))}.`,
    ...(note === "" ? [] : [printable(note, LINE_CHARS)]),
    ...explanation,
  ];
  return lines.map((line, at) => `${at === 0 ? "" : "    "}${printable(line, LINE_CHARS)}\n`).join("");
}

function pathOf(id: string): string {
  return `/waits/${encodeURIComponent(id)}`;
}

function printJson(value: object, io: CliIo): void {
  io.out(`${JSON.stringify(value, undefined, 2)}\n`);
}
