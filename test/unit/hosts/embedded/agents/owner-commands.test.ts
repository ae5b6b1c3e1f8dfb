import { expect, it } from "vitest";
import type { Approval } from "../../../../../src/core/agent-rights.ts";
import { answerCommand } from "../../../../../src/hosts/embedded/agents/owner-commands.ts";

const asked: string[] = [];
const approvals = {
  answer(id: string, answer: "approved" | "denied"): Promise<Approval | undefined> {
    asked.push(`${id} ${answer}`);
    return Promise.resolve(id === "k7m2xq" ? ({ title: "git push" } as Approval) : undefined);
  },
};

it.each([
  ["/approve k7m2xq", "Approved: git push"],
  [" /DENY@my_bot  K7M2XQ\n", "Denied: git push"],
  ["approve k7m2xq", "Approved: git push"],
  ["/approve aaaaaa", "There is no question aaaaaa that waits for an answer."],
])("%j is a command", async (text, answer) => {
  expect(await answerCommand(text, approvals)).toBe(answer);
});

it.each(["approve merges", "/approve", "/approve k7m2xq and more", "please /approve k7m2xq", "/start", ""])(
  "%j is for the agent",
  async (text) => {
    asked.length = 0;
    expect(await answerCommand(text, approvals)).toBeUndefined();
    expect(asked).toEqual(text === "approve merges" ? ["merges approved"] : []);
  },
);
