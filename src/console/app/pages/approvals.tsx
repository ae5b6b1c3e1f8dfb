import type { JSX } from "preact";
import type { Approval } from "../../../core/agent-rights.ts";
import { sendRequest } from "../client.ts";
import { useData, useKept } from "../data.ts";
import { linkTo } from "../location.ts";
import { ActionButton, Problem, Table, Text, Time } from "../parts.tsx";

/** A question waits for minutes, and no event tells of it. */
const READ = { live: true, everyMs: 3_000 };

/** The questions of agents that wait for an answer, a new one last. */
export function ApprovalsView(): JSX.Element {
  const { body, problem, reload } = useData<{ readonly approvals: readonly Approval[] }>("approvals", READ);
  const approvals = body.value?.approvals;
  const rows = useKept(approvals?.toReversed());
  const answer = async (id: string, how: "approve" | "deny"): Promise<string> => {
    await sendRequest(`approvals/${id}/${how}`);
    await reload();
    return how === "approve" ? "approved" : "denied";
  };
  return (
    <>
      <h1>Approvals</h1>
      <Problem text={problem.value} />
      <p>An answer holds for this one act. A question without an answer in time is denied.</p>
      {approvals?.length === 0 && <p>No question waits.</p>}
      <Table label="Approvals" titles={["Asked", "Agent", "Session", "Act", "Arguments", "Answer"]}>
        {rows.map(({ item: { id, askedAt, agentId, sessionKey, title, input }, isGone }) => (
          <tr key={id}>
            <td class="tight">
              <Time at={askedAt} />
            </td>
            <td>{agentId}</td>
            <td>
              <a href={linkTo("sessions", sessionKey)}>{sessionKey}</a>
            </td>
            <td>{title}</td>
            <td>{input !== "" && <Text text={input} label={`Arguments of ${id}`} />}</td>
            <td class="tight">
              <ActionButton label="Approve" run={() => answer(id, "approve")} isMain isDisabled={isGone} />{" "}
              <ActionButton label="Deny" run={() => answer(id, "deny")} isDisabled={isGone} />
              {isGone && <div class="faint">waits no longer</div>}
            </td>
          </tr>
        ))}
      </Table>
    </>
  );
}
