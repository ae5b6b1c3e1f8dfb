import { expect, it } from "vitest";
import type { Approval } from "../../../../../src/core/agent-rights.ts";
import type { OperationOutcome } from "../../../../../src/ingress/operations/outcome.ts";
import { answerCommand } from "../../../../../src/hosts/embedded/agents/owner-commands.ts";

const asked: string[] = [];
const approvals = {
  answer(id: string, answer: "approved" | "denied"): Promise<Approval | undefined> {
    asked.push(`${id} ${answer}`);
    return Promise.resolve(id === "k7m2xq" ? ({ title: "git push" } as Approval) : undefined);
  },
};

const HELD = "dlv_00000001efa3940586553376";
const OTHER = "dlv_00000002efa3940586553376";
const REPLY = "dlv_00000003efa3940586553376";
const commands = {
  approvals,
  decide(id: string, decision: "release" | "cancel"): Promise<OperationOutcome> {
    if (id === OTHER) return Promise.resolve({ kind: "left", reason: "it is done" });
    if (id === REPLY) return Promise.resolve({ kind: "released", runs: 1 });
    if (id !== HELD) return Promise.resolve({ kind: "unknown" });
    const released = { kind: "replayed", deliveryId: "dlv_x", runIds: [], state: "queued" } as const;
    return Promise.resolve(decision === "release" ? released : { kind: "canceled", runs: 1 });
  },
};

it.each([
  [`/release ${HELD}`, "Released as dlv_x."],
  [`/release ${REPLY}`, `Released: ${REPLY}.`],
  [`reject ${HELD.toUpperCase()}`, `Rejected: ${HELD}.`],
  [`/release@my_bot ${OTHER}`, "Nothing was done: it is done."],
  [`/reject ${HELD.replace("1", "9")}`, `There is no delivery ${HELD.replace("1", "9")}.`],
  ["/approve k7m2xq", "Approved: git push"],
  [" /DENY@my_bot  K7M2XQ\n", "Denied: git push"],
  ["approve k7m2xq", "Approved: git push"],
  ["/approve aaaaaa", "There is no question aaaaaa that waits for an answer."],
])("%j is a command", async (text, answer) => {
  expect(await answerCommand(text, commands)).toBe(answer);
});

it.each([
  "approve merges",
  "/approve",
  "/approve k7m2xq and more",
  "please /approve k7m2xq",
  "/release it",
  "/start",
  "",
])("%j is for the agent", async (text) => {
  asked.length = 0;
  expect(await answerCommand(text, commands)).toBeUndefined();
  expect(asked).toEqual(text === "approve merges" ? ["merges approved"] : []);
});
