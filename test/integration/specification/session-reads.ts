import type { AgentSpec } from "../../../src/core/run.ts";
import type { HookAnswer, RunningGateway } from "../http/running-gateway.ts";

interface Message {
  readonly role: string;
  readonly text: string;
}

interface OutboxEntry {
  readonly channel: string;
  readonly to: string;
  readonly text: string;
}

/** Texts of the events that wait in a session, oldest first; the default agent's main session when none is named. */
export async function pendingTexts(gateway: RunningGateway, session = "main"): Promise<string[]> {
  const path = `/sessions/${encodeURIComponent(session)}/events?limit=200`;
  return (await gateway.api<{ events: Message[] }>(path)).events.map(({ text }) => text);
}

/** The transcript of a session, oldest message first. */
export async function transcript(gateway: RunningGateway, session = "main"): Promise<readonly Message[]> {
  const path = `/sessions/${encodeURIComponent(session)}/messages?limit=200`;
  return (await gateway.api<{ messages: Message[] }>(path)).messages;
}

/** What channels were given, oldest first. */
export async function outbox(gateway: RunningGateway): Promise<readonly OutboxEntry[]> {
  return (await gateway.api<{ messages: OutboxEntry[] }>("/outbox?limit=200")).messages.toReversed();
}

/** The run that an agent call was accepted as. */
export async function runOf(gateway: RunningGateway, answer: HookAnswer): Promise<AgentSpec> {
  if (answer.status !== 200 && answer.status !== 202)
    throw new Error(`The call was answered ${answer.status}: ${answer.text}`);
  return (await gateway.delivery(answer.body["deliveryId"])).runs[0]!.spec as AgentSpec;
}
