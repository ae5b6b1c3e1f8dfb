/** What an agent says of a tool call, as an act that is judged. All of it is the agent's own claim. */
import { hash } from "node:crypto";
import type * as acp from "@agentclientprotocol/sdk";
import { ACT_KINDS, type ActKind } from "../../../core/agent-rights.ts";
import { GATEWAY_SERVER } from "./gateway-tool.ts";
import type { Act } from "./permissions.ts";
import type { ToolGrant } from "./tool-endpoint.ts";

/** What is kept of a call until its next message. */
export type KnownCall = Pick<Act, "title" | "input" | "kind">;

const MAX_KEPT_CHARS = 20_000;
const MAX_TITLE_CHARS = 1_000;
const MAX_ID_CHARS = 1_000;
/** Answers to one question that are looked at. */
const MAX_OPTIONS = 100;

/** The act of a tool call, with what an earlier message said of it. */
export function actOf(
  { kind, title, rawInput, locations }: Omit<acp.ToolCallUpdate, "toolCallId">,
  before: KnownCall | undefined,
): Act {
  const { command } = (rawInput ?? {}) as { readonly command?: unknown };
  const words: unknown[] = Array.isArray(command) ? command : [command];
  return {
    kind: ACT_KINDS.find((known) => known === kind) ?? before?.kind ?? ("other" satisfies ActKind),
    title: title ?? before?.title ?? "a tool call",
    input: rawInput === undefined ? before?.input : JSON.stringify(rawInput),
    command: words.every((word) => typeof word === "string") ? words.join(" ") : undefined,
    paths: locations?.map(({ path }) => path),
  };
}

export function keptOf({ title, input, kind }: Act): KnownCall {
  const isLong = input !== undefined && input.length > MAX_KEPT_CHARS;
  const kept = isLong ? `${input.slice(0, MAX_KEPT_CHARS)} … sha256:${hash("sha256", input)}` : input;
  return { title: title.slice(0, MAX_TITLE_CHARS), input: kept, kind };
}

export function contentText(content: readonly acp.ToolCallContent[] | null | undefined): string {
  const texts = (content ?? []).map((part) =>
    part.type === "content" && part.content.type === "text" ? part.content.text : `[${part.type}]`,
  );
  return texts.join("\n");
}

/** An id that the gateway keeps or sends back. */
export function isShortId(id: string): boolean {
  return id.length <= MAX_ID_CHARS;
}

/** The answer to a question: for this one call, and never for longer. */
export function answerOf(
  options: readonly acp.PermissionOption[],
  { isAllowed }: { readonly isAllowed: boolean },
): acp.RequestPermissionResponse {
  const wanted = isAllowed ? "allow_once" : "reject_once";
  const option = options.slice(0, MAX_OPTIONS).find(({ kind, optionId }) => kind === wanted && isShortId(optionId));
  return option === undefined ? CANCELED : { outcome: { outcome: "selected", optionId: option.optionId } };
}

export const CANCELED: acp.RequestPermissionResponse = { outcome: { outcome: "cancelled" } };

/** The server of tools that a session is given. */
export function serverOf({ url, token }: ToolGrant): acp.McpServer {
  const headers = [{ name: "Authorization", value: `Bearer ${token}` }];
  return { type: "http", name: GATEWAY_SERVER, url: `${url}/mcp`, headers };
}
