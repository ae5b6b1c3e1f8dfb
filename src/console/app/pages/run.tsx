import type { JSX } from "preact";
import type { Attempt, RunDetail } from "../../../core/delivery.ts";
import { usageText } from "../../../core/token-usage.ts";
import { linkTo } from "../location.ts";
import { StateMark, Text, Time } from "../parts.tsx";

interface RunProps {
  readonly run: RunDetail;
  readonly number: number;
  /** ISO 8601 UTC: from then on it waited. */
  readonly acceptedAt: string;
}

/** One run: its attempts, what the agent was given and what it replied. */
export function Run({ run, number, acceptedAt }: RunProps): JSX.Element {
  const { state, reason, spec, attempts, reply, delivery, dueAt, calls } = run;
  return (
    <section aria-label={`Run ${number}`}>
      <h3>
        Run {number}: {spec.kind} <StateMark state={state} />
      </h3>
      {reason !== null && <p>{reason}</p>}
      <ol>
        <li>
          queued for agent {spec.agentId} in session <a href={linkTo("sessions", spec.sessionKey)}>{spec.sessionKey}</a>
          {calls > 1 && `, with ${calls} calls`}
          {dueAt !== null && (
            <>
              , not before <Time at={dueAt} />
            </>
          )}
        </li>
        {attempts.map((attempt, at) => (
          <li key={attempt.number}>
            <AttemptLine attempt={attempt} waitedFrom={attempts[at - 1]?.endedAt ?? acceptedAt} />
          </li>
        ))}
        <li>reply: {delivery}</li>
      </ol>
      <details>
        <summary>{spec.kind === "wake" ? "Text of the event" : "Message to the agent"}</summary>
        <Text text={spec.kind === "wake" ? spec.text : spec.message} label={`Message of run ${number}`} />
      </details>
      {reply !== null && (
        <details open>
          <summary>Reply</summary>
          <Text text={reply} label={`Reply of run ${number}`} />
        </details>
      )}
    </section>
  );
}

function AttemptLine({ attempt, waitedFrom }: { readonly attempt: Attempt; readonly waitedFrom: string }): JSX.Element {
  const { number, startedAt, endedAt, status, error, usage } = attempt;
  const ms = endedAt === null ? undefined : Date.parse(endedAt) - Date.parse(startedAt);
  const waitedMs = Date.parse(startedAt) - Date.parse(waitedFrom);
  return (
    <>
      attempt {number} <Time at={startedAt} />: <span class={status === "ok" ? "good" : ""}>{status}</span>
      {ms !== undefined && ` after ${(ms / 1_000).toFixed(1)} s`}
      <span class="faint"> (waited {(Math.max(0, waitedMs) / 1_000).toFixed(1)} s)</span>
      {usage !== undefined && <span class="faint"> {usageText(usage)}</span>}
      {error !== null && <span class="bad">: {error}</span>}
    </>
  );
}
