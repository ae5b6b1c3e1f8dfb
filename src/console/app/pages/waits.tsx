import type { JSX } from "preact";
import type { WaitView } from "../../../ingress/operations/waits.ts";
import { sendRequest } from "../client.ts";
import { useData, useKept } from "../data.ts";
import { linkTo } from "../location.ts";
import { ActionButton, Problem, Table, Time } from "../parts.tsx";

/** A wait that is added, or that ends at its deadline, changes no delivery that is listed. */
const READ = { live: true, everyMs: 3_000 };

/** The sessions that wait for events, the next deadline first, and why each still waits. */
export function WaitsView(): JSX.Element {
  const { body, problem, reload } = useData<{ readonly waits: readonly WaitView[] }>("waits", READ);
  const waits = body.value?.waits;
  const rows = useKept(waits);
  const cancel = async (id: string): Promise<string> => {
    await sendRequest(`waits/${encodeURIComponent(id)}`, {}, "DELETE");
    await reload();
    return "canceled";
  };
  return (
    <>
      <h1>Waits</h1>
      <Problem text={problem.value} />
      <p>A wait resumes its session when what it waits for has come, or at its deadline. A canceled one never does.</p>
      {waits?.length === 0 && <p>No session waits.</p>}
      <Table label="Waits" titles={["Deadline", "Session", "Note", "State", "Wait"]}>
        {rows.map(({ item: { id, until, sessionKey, note, explanation }, isGone }) => (
          <tr key={id}>
            <td class="tight">
              <Time at={until} />
            </td>
            <td>
              <a href={linkTo("sessions", sessionKey)}>{sessionKey}</a>
            </td>
            <td>{note}</td>
            <td>
              <ul>
                {explanation.map((sentence) => (
                  <li key={sentence}>{sentence}</li>
                ))}
              </ul>
            </td>
            <td class="tight">
              <code>{id}</code> <ActionButton label="Cancel" run={() => cancel(id)} isDisabled={isGone} />
              {isGone && <div class="faint">waits no longer</div>}
            </td>
          </tr>
        ))}
      </Table>
    </>
  );
}
