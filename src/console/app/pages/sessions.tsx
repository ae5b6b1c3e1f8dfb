import type { JSX } from "preact";
import { useData } from "../data.ts";
import { linkTo } from "../location.ts";
import { Problem, Table, Text, Time } from "../parts.tsx";

interface SessionLine {
  readonly key: string;
  readonly lastActivityAt: string;
  readonly messages: number;
  readonly pendingEvents: number;
}

/** The conversations of agents, the latest first. */
export function SessionsView(): JSX.Element {
  const { body, problem } = useData<{ readonly sessions: readonly SessionLine[] }>("sessions?limit=200");
  const sessions = body.value?.sessions;
  return (
    <>
      <h1>Sessions</h1>
      <Problem text={problem.value} />
      {sessions?.length === 0 && <p>No session yet.</p>}
      <Table label="Sessions" titles={["Session", "Last activity", "Messages", "Waiting events"]}>
        {sessions?.map(({ key, lastActivityAt, messages, pendingEvents }) => (
          <tr key={key}>
            <td>
              <a href={linkTo("sessions", key)}>{key}</a>
            </td>
            <td class="tight">
              <Time at={lastActivityAt} />
            </td>
            <td>{messages}</td>
            <td>{pendingEvents}</td>
          </tr>
        ))}
      </Table>
    </>
  );
}

interface Said {
  readonly role: string;
  readonly text: string;
  readonly time: string;
}

/** What was said in one session, and the system events that wait for its next turn. */
export function SessionView({ sessionKey }: { readonly sessionKey: string }): JSX.Element {
  const path = `sessions/${encodeURIComponent(sessionKey)}`;
  const said = useData<{ readonly messages: readonly Said[] }>(`${path}/messages?limit=100`);
  const waiting = useData<{ readonly events: readonly { readonly text: string }[] }>(`${path}/events?limit=100`);
  return (
    <>
      <h1>Session {sessionKey}</h1>
      <Problem text={said.problem.value ?? waiting.problem.value} />
      <h2>Waiting events</h2>
      {waiting.body.value?.events.length === 0 && <p>None.</p>}
      {waiting.body.value?.events.map(({ text }, at) => (
        <Text key={at} text={text} label={`Event ${at + 1}`} />
      ))}
      <h2>Messages</h2>
      {said.body.value?.messages.length === 0 && <p>None.</p>}
      {said.body.value?.messages.map(({ role, text, time }, at) => (
        <section key={at}>
          <h3>
            {role} <Time at={time} />
          </h3>
          <Text text={text} label={`Message ${at + 1}, ${role}`} />
        </section>
      ))}
    </>
  );
}

interface Sent {
  readonly channel: string;
  readonly to: string;
  readonly text: string;
  readonly time: string;
  readonly state: string;
}

/** What agents and notices sent on the channels, the newest first. */
export function OutboxView(): JSX.Element {
  const { body, problem } = useData<{ readonly messages: readonly Sent[] }>("outbox?limit=100");
  return (
    <>
      <h1>Outbox</h1>
      <Problem text={problem.value} />
      {body.value?.messages.length === 0 && <p>No channel was given a message yet.</p>}
      {body.value?.messages.map(({ channel, to, text, time, state }, at) => (
        <section key={at}>
          <h2>
            {channel} to {to}: {state} <Time at={time} />
          </h2>
          <Text text={text} label={`Message ${at + 1}`} />
        </section>
      ))}
    </>
  );
}
