/** What the owner can say in a chat to the gateway itself, instead of the agent. */
import type { OperationOutcome } from "../../../index.ts";
import type { Approvals } from "./approvals.ts";

/** Slack keeps what begins with a slash for commands of its own; Telegram may add the bot's name to a command. */
const ANSWER = /^\s*(\/?)(approve|deny)(?:@\w+)?\s+([a-z0-9]{6})\s*$/iu;
const DECIDE = /^\s*\/?(release|reject)(?:@\w+)?\s+(dlv_[0-9a-z]{24})\s*$/iu;

export interface OwnerCommands {
  readonly approvals: Pick<Approvals, "answer">;
  /** Lets a held delivery begin, or ends it. */
  decide(deliveryId: string, decision: "release" | "cancel"): Promise<OperationOutcome>;
}

/**
 * Carries out `/approve <id>`, `/deny <id>`, `/release <delivery>` or `/reject <delivery>` and returns what to answer.
 * `undefined`: it is for the agent, as is `approve <id>` where no such question waits.
 */
export async function answerCommand(text: string, commands: OwnerCommands): Promise<string | undefined> {
  const [, word = "", delivery = ""] = DECIDE.exec(text) ?? [];
  if (word !== "") return decide(delivery.toLowerCase(), word.toLowerCase() === "release", commands);
  const [, slash = "", answer = "", written = ""] = ANSWER.exec(text) ?? [];
  if (answer === "") return undefined;
  const id = written.toLowerCase();
  const isApproved = answer.toLowerCase() === "approve";
  const answered = await commands.approvals.answer(id, isApproved ? "approved" : "denied");
  if (answered !== undefined) return `${isApproved ? "Approved" : "Denied"}: ${answered.title}`;
  return slash === "" ? undefined : `There is no question ${id} that waits for an answer.`;
}

async function decide(id: string, isRelease: boolean, commands: OwnerCommands): Promise<string> {
  const outcome = await commands.decide(id, isRelease ? "release" : "cancel");
  switch (outcome.kind) {
    case "replayed":
      return `Released as ${outcome.deliveryId}.`;
    case "released":
      return `Released: ${id}.`;
    case "canceled":
      return `Rejected: ${id}.`;
    case "left":
      return `Nothing was done: ${outcome.reason}.`;
    case "refused":
      return `Nothing was done: ${outcome.refusal.message ?? outcome.refusal.refused}`;
    default:
      return `There is no delivery ${id}.`;
  }
}
