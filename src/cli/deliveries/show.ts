/** `reveille deliveries show`. */
import { describeHidden } from "../../core/boundary/remove-hidden.ts";
import type { DeliveryDetail, DeliverySummary, RelatedDelivery } from "../../core/delivery.ts";
import type { RunDetail } from "../../core/run.ts";
import { shorten } from "../../config/show-value.ts";
import { AnswerError, CliError } from "../errors.ts";
import { activityText } from "../../core/agent-rights.ts";
import { usageText } from "../../core/token-usage.ts";
import type { CliIo } from "../io.ts";
import { askGateway, askGatewayForBytes, reachGateway } from "../gateway-client.ts";
import type { GatewayAccess, GatewayCommandOptions } from "../gateway.ts";
import { printable, printableLines } from "../terminal-text.ts";

export interface ShowOptions extends GatewayCommandOptions {
  readonly body?: boolean;
  readonly json?: boolean;
}

const TEXT_CHARS = 500;

/** Prints one delivery with its runs, or its body as it arrived; the newest when none is named. */
export async function showDelivery(named: string | undefined, options: ShowOptions, io: CliIo): Promise<void> {
  if (options.body === true && options.json === true) throw new CliError("--body prints the bytes; leave --json out.");
  const access = await reachGateway(options, io);
  const id = named ?? (await newestId(access));
  try {
    await printDelivery(id, access, options, io);
  } catch (error) {
    if (!(error instanceof AnswerError && error.status === 404)) throw error;
    throw new CliError(`There is no delivery "${shorten(id)}". To find one: ${io.gateway.program} deliveries list`);
  }
}

async function printDelivery(id: string, access: GatewayAccess, options: ShowOptions, io: CliIo): Promise<void> {
  const path = `/deliveries/${encodeURIComponent(id)}`;
  if (options.body === true) {
    const bytes = await askGatewayForBytes(access, `${path}/body`);
    io.out(io.isTerminal ? `${printableLines(Buffer.from(bytes).toString())}\n` : bytes);
    return;
  }
  const delivery = await askGateway<DeliveryDetail>(access, path);
  io.out(options.json === true ? `${JSON.stringify(delivery, undefined, 2)}\n` : linesOf(delivery).join("\n") + "\n");
}

async function newestId(access: GatewayAccess): Promise<string> {
  const { deliveries } = await askGateway<{ deliveries: readonly DeliverySummary[] }>(access, "/deliveries?limit=1");
  const [newest] = deliveries;
  if (newest === undefined) throw new CliError("There is no delivery yet.");
  return newest.id;
}

function linesOf(delivery: DeliveryDetail): string[] {
  const {
    id,
    state,
    reason,
    receivedAt,
    route,
    mappingId,
    name,
    event,
    actor,
    level,
    relatedTo,
    replayedAs,
    resolved,
  } = delivery;
  return [
    `${id}  ${state}`,
    ...line("reason", reason),
    ...line("received", receivedAt),
    ...line("answered", delivery.answered === undefined ? null : String(delivery.answered)),
    ...line("route", route),
    ...line("mapping", mappingId),
    ...line("name", name),
    ...line("event", event),
    ...line("actor", actor === null || level === null ? actor : `${actor} (${level})`),
    ...line("chain", delivery.chain === undefined ? null : `${delivery.chain.id} (depth ${delivery.chain.depth})`),
    ...(relatedTo === null ? [] : line(RELATIONS[relatedTo.how], relatedTo.deliveryId)),
    ...(replayedAs === undefined ? [] : line("replayed", `${replayedAs.deliveryId} (${replayedAs.state})`)),
    ...(delivery.duplicates ?? []).flatMap((repeat) => line("repeat", `${repeat.id}  ${repeat.receivedAt}`)),
    ...(delivery.replays ?? []).flatMap(({ id: replay, state: of }) => line("replay", `${replay} (${of})`)),
    ...line("resolved", resolved === undefined ? null : [resolved.at, resolved.note ?? ""].join("  ").trimEnd()),
    ...line("body", `${delivery.bodyBytes} bytes`),
    ...Object.entries(delivery.headers).map(([header, value]) => `    ${printable(`${header}: ${value}`, TEXT_CHARS)}`),
    ...delivery.runs.flatMap(linesOfRun),
  ];
}

const RELATIONS = {
  duplicate: "repeats",
  coalesced: "part of",
  replay: "replay of",
} as const satisfies Record<RelatedDelivery["how"], string>;

function linesOfRun(run: RunDetail): string[] {
  const { id, state, reason, spec, attempts, reply, delivery, dueAt, calls, steps, settledAt } = run;
  return [
    `${id}  ${spec.kind}  ${state}`,
    ...line("reason", reason),
    ...line("due", dueAt),
    ...line("calls", calls === 1 ? null : String(calls)),
    ...line("session", spec.sessionKey),
    ...line("taken out", spec.hidden === undefined ? null : describeHidden(spec.hidden)),
    ...paragraph("text", spec.kind === "wake" ? spec.text : spec.message),
    ...attempts.flatMap(({ number, startedAt, endedAt, status, error, usage, activity = [] }) => {
      const why = error === null ? "" : `: ${printable(error, TEXT_CHARS)}`;
      const counted = usage === undefined ? "" : `  ${printable(usageText(usage), TEXT_CHARS)}`;
      return [
        `  attempt ${number}  ${startedAt} to ${endedAt ?? "now"}  ${status}${why}${counted}`,
        ...activity.map((act) => `    ${printable(activityText(act), TEXT_CHARS)}`),
      ];
    }),
    ...paragraph("reply", reply),
    ...line("delivery", delivery === "none" ? null : delivery),
    ...steps.flatMap(({ step, at }) => line(step, at)),
    ...line("settled", settledAt),
  ];
}

const LABEL_CHARS = 11;

function line(label: string, value: string | null): string[] {
  return value === null || value === "" ? [] : [`  ${label.padEnd(LABEL_CHARS)}${printable(value, TEXT_CHARS)}`];
}

/** A text with lines of its own keeps them. */
function paragraph(label: string, text: string | null): string[] {
  if (text === null || !text.trim().includes("\n")) return line(label, text);
  return [
    `  ${label}`,
    ...printableLines(text.trim())
      .split("\n")
      .map((each) => `    ${each}`),
  ];
}
