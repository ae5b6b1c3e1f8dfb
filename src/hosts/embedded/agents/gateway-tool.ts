/** The use of a tool of the gateway itself, whichever way an agent calls it. */
import type { AgentTool, ToolAnswer, ToolUser } from "../../../core/agent-tool.ts";
import type { RunRights } from "./run-rights.ts";

/** A tool that one turn may use. */
export interface GrantedTool {
  readonly tool: AgentTool;
  readonly user: ToolUser;
  readonly rights: RunRights;
}

/** The name of the gateway as a server of tools. */
export const GATEWAY_SERVER = "reveille";

/** Asks the turn's rights, where it counts as reading: it acts on nothing outside. Rejects only on a defect. */
export async function useTool({ tool, user, rights }: GrantedTool, input: unknown): Promise<ToolAnswer> {
  const title = `${GATEWAY_SERVER}.${tool.name}`;
  const written = JSON.stringify(input) ?? "";
  const verdict = await rights.judge({ tool: title, title, input: written, kind: "read" });
  if (!verdict.allowed) return { problem: `Denied: ${verdict.why}.` };
  const answer = await tool.call(user, input);
  rights.called({ title, input: written }, "problem" in answer ? answer.problem : JSON.stringify(answer.result));
  return answer;
}
