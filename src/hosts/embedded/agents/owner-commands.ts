/** What the owner can say in a chat to the gateway itself, instead of the agent. */
import type { Approvals } from "./approvals.ts";

/** Slack keeps what begins with a slash for commands of its own; Telegram may add the bot's name to a command. */
const ANSWER = /^\s*(\/?)(approve|deny)(?:@\w+)?\s+([a-z0-9]{6})\s*$/iu;

/**
 * Carries out `/approve <id>` or `/deny <id>` and returns what to answer. `undefined`: it is for the agent, as is
 * `approve <id>` where no such question waits.
 */
export async function answerCommand(text: string, approvals: Pick<Approvals, "answer">): Promise<string | undefined> {
  const [, slash = "", word = "", written = ""] = ANSWER.exec(text) ?? [];
  if (word === "") return undefined;
  const id = written.toLowerCase();
  const isApproved = word.toLowerCase() === "approve";
  const answered = await approvals.answer(id, isApproved ? "approved" : "denied");
  if (answered !== undefined) return `${isApproved ? "Approved" : "Denied"}: ${answered.title}`;
  return slash === "" ? undefined : `There is no question ${id} that waits for an answer.`;
}
