import type { ServerResponse } from "node:http";
import { fileURLToPath } from "node:url";
import { expect, vi } from "vitest";
import type { DeliveryDetail } from "../../../src/core/delivery.ts";
import type { AgentActivity } from "../../../src/core/agent-rights.ts";
import type { EmbeddedGateway } from "../../../src/hosts/embedded/gateway.ts";
import { streamChat, streamToolCall } from "../../conformance/host/chat-stream.ts";
import { LoopbackServer, type LoopbackRequest } from "../../conformance/host/loopback-server.ts";
import { callHook, gatewayToken, readApi } from "../../unit/hosts/embedded/gateway/fixture.ts";

/** The path of a program of `test/fixtures/agents/`. */
export const program = (name: string): string =>
  fileURLToPath(new URL(`../../fixtures/agents/${name}`, import.meta.url));

interface Message {
  readonly role: string;
  readonly content: string | null;
}

/** A model that makes each call `[tool {...}]` of its prompt in turn, and then says what they resulted in. */
export class ToolModel extends LoopbackServer {
  /** All that it was given, request by request. */
  readonly requests: { readonly messages: readonly Message[]; readonly tools?: readonly unknown[] }[] = [];

  static start(): Promise<ToolModel> {
    return new ToolModel().listen();
  }

  protected answer({ body }: LoopbackRequest, res: ServerResponse): void {
    const request = JSON.parse(body) as (typeof this.requests)[number];
    this.requests.push(request);
    const prompt = request.messages.find(({ role }) => role === "user")?.content ?? "";
    const calls = [...prompt.matchAll(/\[(\w+__\w+) (\{.*?\})\]/gu)];
    const results = request.messages.filter(({ role }) => role === "tool");
    const next = calls[results.length];
    if (next !== undefined) streamToolCall(res, { tool: next[1]!, args: JSON.parse(next[2]!) as object });
    else
      streamChat(res, prompt.includes("[silent]") ? "" : `Done. ${results.map(({ content }) => content).join("\n")}`);
  }
}

/** Calls a hook and waits until its runs have ended. */
export async function endedRun(gateway: EmbeddedGateway, path: string, body: object): Promise<DeliveryDetail> {
  const answer = await callHook(gateway, `/hooks/${path}`, body);
  const { deliveryId } = (await answer.json()) as { deliveryId: string };
  expect(deliveryId).toBeDefined();
  return await ended(gateway, deliveryId);
}

export async function ended(gateway: EmbeddedGateway, deliveryId: string, timeout = 30_000): Promise<DeliveryDetail> {
  return await vi.waitFor(async () => {
    const delivery = (await (await readApi(gateway, `deliveries/${deliveryId}`)).json()) as DeliveryDetail;
    expect(delivery.settledAt).toBeDefined();
    return delivery;
  }, timeout);
}

/** What the agent did in its last attempt, without times. */
export function acts({ runs }: DeliveryDetail): Partial<AgentActivity>[] {
  return (runs[0]?.attempts.at(-1)?.activity ?? []).map(({ kind, title, input, output }) => ({
    kind,
    title,
    ...(input !== undefined && { input }),
    ...(output !== undefined && { output }),
  }));
}

/** Sends a request to the gateway's API. */
export async function post(gateway: EmbeddedGateway, path: string): Promise<Response> {
  return await fetch(`${gateway.url}/api/v1/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${gatewayToken}`, "content-type": "application/json" },
    body: "{}",
  });
}
