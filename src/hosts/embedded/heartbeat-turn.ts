/** One turn of a session: its pending events go in, its reply comes out, both in one commit. */
import { randomUUID } from "node:crypto";
import type { ChannelMessage, Clock, Logger } from "../../core/host.ts";
import type { CheckOutgoing } from "../../core/outgoing/check-outgoing.ts";
import { suppression } from "../../core/suppression.ts";
import type { GatewayConfig } from "./config/file.ts";
import type { EventWindow } from "./event-window.ts";
import type { EmbeddedSessions } from "./sessions.ts";
import type { OwnerMessages, PendingEvent } from "./state/session-reads.ts";
import type { EmbeddedChannels } from "./channels.ts";
import type { EmbeddedAgents } from "./agents.ts";
import { whileInPlace } from "./while-in-place.ts";

/** Everything that a reader may take for the start of a line. */
const LINE_BREAKS = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/;
const MAX_REASONS_CHARS = 500;

/**
 * The prompt of a turn: the events, every line of them after `System:`, so that no event can write
 * a line that looks like anything else; then, in the gateway's own words, the task.
 */
export function heartbeatPrompt(turn: {
  readonly events: readonly PendingEvent[];
  /** Why the turn was asked for: `hook:wake`, `periodic`. */
  readonly reasons: readonly string[];
  readonly now: Date;
}): string {
  const lines = turn.events.flatMap(({ text, time }) =>
    `[${time}] ${text}`.split(LINE_BREAKS).map((line) => `System: ${line}`),
  );
  const reasons = turn.reasons
    .join(", ")
    .replaceAll(/[\p{C}\p{Z}\s]+/gu, " ")
    .slice(0, MAX_REASONS_CHARS);
  const task =
    lines.length > 0
      ? "Look at the system events above and do what they call for, as far as your owner would want it."
      : "No new system events have arrived.";
  return [
    ...(lines.length > 0 ? [lines.join("\n")] : []),
    `Heartbeat (${reasons}), ${turn.now.toISOString()}. ${task} ` +
      "If nothing needs your owner's attention, reply with exactly HEARTBEAT_OK.",
  ].join("\n\n");
}

/** What the owner wrote that one turn answers. */
const OWNER_MESSAGES = { limit: 20, maxChars: 65_536 };
/** Messages of the earlier conversation that a turn sees. */
const CONVERSATION = { limit: 40, maxChars: 65_536 };

export interface HeartbeatTurn {
  readonly agentId: string;
  readonly sessionKey: string;
  readonly reasons: readonly string[];
  /** True when there is to be no turn without events. */
  readonly eventsOnly: boolean;
  /** Of the session, from turn to turn. */
  readonly window: EventWindow;
  readonly signal: AbortSignal;
  /** Called right before the turn is stored: a request that comes later is not answered by it. */
  onStore(): void;
}

/** The parts of the gateway that a turn needs. */
export interface TurnParts {
  readonly sessions: EmbeddedSessions;
  readonly agents: EmbeddedAgents;
  readonly channels: Pick<EmbeddedChannels, "queue">;
  readonly config: () => GatewayConfig;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** `more`: events are left. `failed`: nothing was stored, the events are still pending. */
export type HeartbeatOutcome = "done" | "more" | "failed";

/**
 * Gives the agent its session's pending events, and stores prompt, reply and the consumption of the
 * events together: a crash before that repeats the turn and loses nothing. A reply that says
 * something is put into the outbox for the session's last route.
 */
export async function runHeartbeatTurn(turn: HeartbeatTurn, gateway: TurnParts): Promise<HeartbeatOutcome> {
  const ofOwner = await gateway.sessions.ownerMessages(turn.sessionKey, OWNER_MESSAGES);
  if (ofOwner === undefined) return runEventTurn(turn, gateway);
  const outcome = await runOwnerTurn(turn, ofOwner, gateway);
  if (outcome !== "refused") return outcome;
  // What the model does not take from the owner keeps no event waiting.
  await runEventTurn({ ...turn, eventsOnly: true }, gateway);
  return "failed";
}

async function runEventTurn(turn: HeartbeatTurn, gateway: TurnParts): Promise<HeartbeatOutcome> {
  const { sessions, agents, config, clock, logger } = gateway;
  const { agentId, sessionKey, reasons, window, signal } = turn;
  const events = await window.next((limits) => sessions.turnEvents(sessionKey, limits));
  if (events.length === 0 && turn.eventsOnly) {
    return "done";
  }
  const prompt = heartbeatPrompt({ events, reasons, now: new Date(clock.now()) });
  const messages = [
    ...(await sessions.conversation(sessionKey, CONVERSATION)),
    { role: "user" as const, text: prompt },
  ];
  const checkOutgoing = sessions.outgoingCheck(messages);
  const asked = {
    agentId,
    sessionKey,
    messages,
    checkOutgoing,
    idle: events.length === 0,
    trust: "untrusted",
    timeoutMs: config().agents.timeoutMs,
  } as const;
  const result = await whileInPlace(sessions, signal, (ending) => agents.converse({ ...asked, signal: ending }));
  if (result.status !== "ok") {
    const { status, error } = result;
    const facts = { agentId, sessionKey, status, error, events: events.length, firstEvent: events[0]?.id };
    logger.warn(facts, "heartbeat turn failed");
    if (result.isRefused) window.refused(events);
    return "failed";
  }
  const turnId = `heartbeat:${randomUUID()}`;
  const outgoing = outgoingReply(result.reply, {
    turnId,
    sessionKey,
    route: await sessions.lastRoute(agentId),
    checkOutgoing,
  });
  const eventIds = events.map(({ id }) => id);
  turn.onStore();
  await sessions.appendTurn({
    sessionKey,
    turnId,
    user: prompt,
    assistant: result.reply,
    eventIds,
    outgoing,
  });
  window.taken();
  return whatIsLeft(sessions, sessionKey);
}

async function whatIsLeft(sessions: EmbeddedSessions, sessionKey: string): Promise<HeartbeatOutcome> {
  const one = { limit: 1, maxChars: 1 };
  const isLeft =
    (await sessions.turnEvents(sessionKey, one)).length > 0 ||
    (await sessions.ownerMessages(sessionKey, one)) !== undefined;
  return isLeft ? "more" : "done";
}

/**
 * Answers what the owner wrote in a chat. The turn is given nothing else that is new, so that no event stands beside
 * the owner's words; while there is no answer, the owner is notified once, and the messages wait.
 */
async function runOwnerTurn(
  turn: HeartbeatTurn,
  { from, messages }: OwnerMessages,
  { sessions, agents, channels, config, logger }: TurnParts,
): Promise<HeartbeatOutcome | "refused"> {
  const { agentId, sessionKey, signal } = turn;
  const prompt = ownerPrompt(messages, from.channel);
  const conversation = [
    ...(await sessions.conversation(sessionKey, CONVERSATION)),
    { role: "user" as const, text: prompt },
  ];
  const checkOutgoing = sessions.outgoingCheck(conversation);
  const asked = {
    agentId,
    sessionKey,
    messages: conversation,
    checkOutgoing,
    idle: false,
    trust: "owner",
    timeoutMs: config().agents.timeoutMs,
  } as const;
  const result = await whileInPlace(sessions, signal, (ending) => agents.converse({ ...asked, signal: ending }));
  if (result.status !== "ok") {
    const { status, error = status } = result;
    logger.warn(
      { agentId, sessionKey, status, error, messages: messages.length },
      "a message of the owner has no answer",
    );
    if (!signal.aborted) {
      // The error may have words of a program, and the session has read what hooks sent.
      const why = checkOutgoing?.(error) === undefined ? error : "an error that may not be sent; the log has it.";
      const text = `There is no answer yet: ${why} Your message is kept and tried again.`;
      await channels.queue({ ...from, text, idempotencyKey: `no-answer:${messages[0]!.id}` });
    }
    return result.isRefused ? "refused" : "failed";
  }
  const turnId = `owner:${randomUUID()}`;
  turn.onStore();
  await sessions.appendTurn({
    sessionKey,
    turnId,
    user: prompt,
    assistant: result.reply,
    eventIds: messages.map(({ id }) => id),
    outgoing: outgoingReply(result.reply, { turnId, sessionKey, route: from, checkOutgoing }),
  });
  return whatIsLeft(sessions, sessionKey);
}

/** Lines of events begin with `System:`, so that none of them can write a line that begins like this. */
function ownerPrompt(messages: OwnerMessages["messages"], channel: string): string {
  return messages.map(({ text, time }) => `[${time}] Your owner writes on ${channel}:\n${text}`).join("\n\n");
}

interface ReplyPlace {
  readonly turnId: string;
  readonly sessionKey: string;
  readonly route: { readonly channel: string; readonly to: string } | undefined;
  readonly checkOutgoing: CheckOutgoing | undefined;
}

/** A reply with what must not leave stays in the transcript, and its place is taken by the reason. */
function outgoingReply(
  reply: string,
  { turnId, sessionKey, route, checkOutgoing }: ReplyPlace,
): ChannelMessage | undefined {
  if (route === undefined || suppression(reply) !== undefined) return undefined;
  const problem = checkOutgoing?.(reply);
  const text =
    problem === undefined
      ? reply
      : `A reply is not sent: ${problem}. Read it in the console, or with: reveille sessions show ${sessionKey}`;
  return { ...route, text, idempotencyKey: turnId };
}
