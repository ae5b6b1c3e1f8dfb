import type { JSX } from "preact";
import type { Attempt, RunDetail, RunStep } from "../../../core/run.ts";
import { describeHidden } from "../../../core/boundary/remove-hidden.ts";
import { activityText } from "../../../core/agent-rights.ts";
import { usageText } from "../../../core/token-usage.ts";
import { linkTo } from "../location.ts";
import { durationText, StateMark, Text, Time } from "../parts.tsx";

const STEP_NAMES = {
  summarized: "summary in the main session",
  delivered: "reply",
  heartbeat: "heartbeat requested",
  "called-back": "callback sent",
  released: "released by a person",
} as const satisfies Record<RunStep, string>;

interface RunProps {
  readonly run: RunDetail;
  readonly number: number;
  /** ISO 8601 UTC: from then on it waited. */
  readonly acceptedAt: string;
}

/** One run: its attempts, what the agent was given and what it replied. */
export function Run({ run, number, acceptedAt }: RunProps): JSX.Element {
  const { state, reason, spec, attempts, reply, delivery, dueAt, calls, steps, settledAt } = run;
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
        {steps.every(({ step }) => step !== "delivered") && <li>reply: {delivery}</li>}
        {steps.map(({ step, at }, index) => (
          <li key={step}>
            {step === "delivered" ? `reply: ${delivery}` : STEP_NAMES[step]} <Time at={at} />
            <span class="faint">
              {" "}
              (took {durationText(steps[index - 1]?.at ?? attempts.at(-1)?.endedAt ?? acceptedAt, at)})
            </span>
          </li>
        ))}
        {settledAt !== null && (
          <li>
            settled <Time at={settledAt} />
            <span class="faint"> ({durationText(acceptedAt, settledAt)} after the call)</span>
          </li>
        )}
      </ol>
      {spec.hidden !== undefined && <p>Taken out, since no one sees it: {describeHidden(spec.hidden)}</p>}
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

const BAD_ACTS: ReadonlySet<string> = new Set(["denied", "refused-host", "refused-extraction"]);

function AttemptLine({ attempt, waitedFrom }: { readonly attempt: Attempt; readonly waitedFrom: string }): JSX.Element {
  const { number, startedAt, endedAt, status, error, usage, activity = [] } = attempt;
  return (
    <>
      attempt {number} <Time at={startedAt} />: <span class={status === "ok" ? "good" : ""}>{status}</span>
      {endedAt !== null && ` after ${durationText(startedAt, endedAt)}`}
      <span class="faint"> (waited {durationText(waitedFrom, startedAt)})</span>
      {usage !== undefined && <span class="faint"> {usageText(usage)}</span>}
      {error !== null && <span class="bad">: {error}</span>}
      {activity.length > 0 && (
        <ul aria-label="What the agent did">
          {activity.map((act, at) => (
            <li key={at} class={BAD_ACTS.has(act.kind) ? "bad" : ""}>
              {activityText(act)}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
