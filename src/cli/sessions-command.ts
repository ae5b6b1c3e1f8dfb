/** `reveille outbox` and `reveille sessions`: what agents said. */
import type { OutboxMessage } from "../hosts/embedded/state/outbox-reads.ts";
import type { PendingEvent, SessionMessage, SessionSummary } from "../hosts/embedded/state/session-reads.ts";
import { askGateway, reachGateway } from "./gateway-client.ts";
import type { GatewayAccess, GatewayCommandOptions } from "./gateway.ts";
import type { CliIo } from "./io.ts";
import { printable, printableLines } from "./terminal-text.ts";
import { textTable } from "./text-table.ts";

export interface PageOptions extends GatewayCommandOptions {
  readonly json?: boolean;
  readonly limit: number;
}

/** The page that the API gives at most. */
const PAGE = 200;
const KEY_CHARS = 60;

/** Prints what the channels were given, the newest first. */
export async function listOutbox(options: PageOptions, io: CliIo): Promise<void> {
  const access = await reachGateway(options, io);
  const messages = await readPages<OutboxMessage>(access, { path: "/outbox", key: "messages" }, options);
  if (options.json === true) {
    print({ messages }, io);
    return;
  }
  if (messages.length === 0) io.out("No channel was given a message yet.\n");
  for (const { time, channel, to, state, text } of messages) {
    const where = `${printable(channel, KEY_CHARS)} to ${printable(to, KEY_CHARS)}`;
    io.out(`${secondOf(time)}  ${where}${state === "sent" ? "" : `  ${state}`}\n${indented(text)}`);
  }
}

/** Lists the sessions, the latest first. */
export async function listSessions(options: PageOptions, io: CliIo): Promise<void> {
  const access = await reachGateway(options, io);
  const sessions = await readPages<SessionSummary>(access, { path: "/sessions", key: "sessions" }, options);
  if (options.json === true) {
    print({ sessions }, io);
    return;
  }
  const rows = sessions.map(({ key, lastActivityAt, messages, pendingEvents }) => [
    printable(key),
    secondOf(lastActivityAt),
    String(messages),
    String(pendingEvents),
  ]);
  io.out(
    sessions.length === 0 ? "There is no session yet.\n" : textTable(["SESSION", "LATEST", "MESSAGES", "EVENTS"], rows),
  );
}

/** Prints the newest messages of a session, in the order in which they were said, and the events that wait. */
export async function showSession(session: string, options: PageOptions, io: CliIo): Promise<void> {
  const access = await reachGateway(options, io);
  const path = `/sessions/${encodeURIComponent(session)}`;
  const [newest, events] = await Promise.all([
    readPages<SessionMessage>(access, { path: `${path}/messages`, key: "messages", order: "newest" }, options),
    readPages<PendingEvent>(access, { path: `${path}/events`, key: "events" }, options),
  ]);
  const messages = newest.toReversed();
  if (options.json === true) {
    print({ session, messages, events }, io);
    return;
  }
  if (messages.length + events.length === 0) io.out(`Nothing was said in the session "${printable(session)}" yet.\n`);
  for (const { time, role, text } of messages) io.out(`${secondOf(time)}  ${role}\n${indented(text)}`);
  for (const { time, text } of events) io.out(`${secondOf(time)}  waits for the next turn\n${indented(text)}`);
}

interface PagedList {
  readonly path: string;
  readonly key: "messages" | "sessions" | "events";
  /** Default: that of the list. */
  readonly order?: "newest";
}

async function readPages<Item>(
  access: GatewayAccess,
  { path, key, order }: PagedList,
  { limit }: Pick<PageOptions, "limit">,
): Promise<Item[]> {
  const items: Item[] = [];
  let cursor: string | null = null;
  do {
    const query = new URLSearchParams({
      limit: String(Math.min(PAGE, limit - items.length)),
      ...(order === undefined ? {} : { order }),
      ...(cursor === null ? {} : { cursor }),
    });
    const page: Readonly<Record<string, unknown>> = await askGateway(access, `${path}?${query.toString()}`);
    items.push(...(page[key] as Item[]));
    cursor = page["nextCursor"] as string | null;
  } while (cursor !== null && items.length < limit);
  return items;
}

function print(document: object, io: CliIo): void {
  io.out(`${JSON.stringify(document, undefined, 2)}\n`);
}

function indented(text: string): string {
  const lines = printableLines(text.trim()).split("\n");
  return `${lines.map((line) => (line === "" ? "" : `    ${line}`)).join("\n")}\n`;
}

function secondOf(time: string): string {
  return `${time.slice(0, 19)}Z`;
}
