import { type ApiCall, type ApiEndpoints, type ApiReply, decodeSegment } from "../../../api/endpoint.ts";
import { readApiQuery } from "../../../api/request.ts";
import { answerJson } from "../../../http/answer.ts";
import type { Approvals } from "../agents/approvals.ts";

/** `/api/v1/approvals`: the questions of agents that wait for the owner's answer. */
export function approvalEndpoints(approvals: Pick<Approvals, "list" | "answer">): ApiEndpoints {
  const answer = async ({ key }: ApiCall, as: "approved" | "denied"): Promise<ApiReply> => {
    const answered = await approvals.answer(decodeSegment(key) ?? "", as);
    return answered && answerJson(200, answered);
  };
  return {
    approvals: {
      GET: async ({ search }) => {
        readApiQuery(search, []);
        return answerJson(200, { approvals: await approvals.list() });
      },
    },
    "approvals/*/approve": { POST: (call) => answer(call, "approved") },
    "approvals/*/deny": { POST: (call) => answer(call, "denied") },
  };
}
