/** `reveille approvals`: the questions of agents, and the owner's answers. */
import type { Approval } from "../core/agent-rights.ts";
import { AnswerError, CliError } from "./errors.ts";
import { askGateway, reachGateway } from "./gateway-client.ts";
import type { GatewayCommandOptions } from "./gateway.ts";
import type { CliIo } from "./io.ts";
import { printable, printableLines } from "./terminal-text.ts";

export interface ApprovalsOptions extends GatewayCommandOptions {
  readonly json?: boolean;
}

const TITLE_CHARS = 200;

/** Prints the questions that wait, the latest first. */
export async function listApprovals(options: ApprovalsOptions, io: CliIo): Promise<void> {
  const listed = await askGateway<{ readonly approvals: readonly Approval[] }>(
    await reachGateway(options, io),
    "/approvals",
  );
  if (options.json === true) {
    io.out(`${JSON.stringify(listed, undefined, 2)}\n`);
    return;
  }
  if (listed.approvals.length === 0) io.out("No question waits.\n");
  for (const { id, agentId, runId, title, input, askedAt } of listed.approvals) {
    const of = runId === null ? "" : `  ${runId}`;
    io.out(`${id}  ${askedAt}  ${printable(agentId)}${of}\n    ${printable(title, TITLE_CHARS)}\n`);
    if (input !== "") io.out(`    ${printableLines(input).replaceAll("\n", "\n    ")}\n`);
  }
}

/** Answers one question, for this one act. */
export async function answerApproval(
  answer: "approve" | "deny",
  id: string,
  options: ApprovalsOptions,
  io: CliIo,
): Promise<void> {
  const access = await reachGateway(options, io);
  const path = `/approvals/${encodeURIComponent(id)}/${answer}`;
  try {
    const answered = await askGateway<Approval>(access, path, { method: "POST", body: {} });
    const words = `${answer === "approve" ? "Approved, for this one act" : "Denied"}: ${printable(answered.title, TITLE_CHARS)}`;
    io.out(options.json === true ? `${JSON.stringify(answered, undefined, 2)}\n` : `${words}\n`);
  } catch (error) {
    if (!(error instanceof AnswerError && error.status === 404)) throw error;
    throw new CliError(`No question ${JSON.stringify(id)} waits: it was answered, has timed out, or never was.`);
  }
}
