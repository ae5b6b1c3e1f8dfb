import type { JSX } from "preact";
import { useData, usePage } from "../data.ts";
import { linkTo } from "../location.ts";
import { PageLinks, Problem, Table, Text, Time } from "../parts.tsx";

interface ListProps {
  /** With the cursor of the page that is shown. */
  readonly filters: URLSearchParams;
}

interface SessionLine {
  readonly key: string;
  readonly lastActivityAt: string;
  readonly messages: number;
  readonly pendingEvents: number;
}

interface SessionPage {
  readonly sessions: readonly SessionLine[];
  readonly nextCursor: string | null;
}

/** The conversations of agents, the latest first. */
export function SessionsView({ filters }: ListProps): JSX.Element {
  const { body, problem, cursor } = usePage<SessionPage>("sessions?limit=200", filters);
  const sessions = body.value?.sessions;
  return (
    <>
      <h1>Sessions</h1>
      <Problem text={problem.value} />
      {sessions?.length === 0 && <p>No session.</p>}
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
      <PageLinks page="sessions" cursor={cursor} next={body.value?.nextCursor}>
        Older sessions
      </PageLinks>
    </>
  );
}

interface Said {
  readonly id: number;
  readonly role: string;
  readonly text: string;
  readonly time: string;
}

interface SaidPage {
  readonly messages: readonly Said[];
  readonly nextCursor: string | null;
}

interface WaitingPage {
  readonly events: readonly { readonly id: number; readonly text: string }[];
  readonly nextCursor: string | null;
}

interface SessionProps extends ListProps {
  readonly sessionKey: string;
}

/** The system events that wait for the next turn of one session, and what was said in it, the newest first. */
export function SessionView({ sessionKey, filters }: SessionProps): JSX.Element {
  const path = `sessions/${encodeURIComponent(sessionKey)}`;
  const said = usePage<SaidPage>(`${path}/messages?order=newest&limit=100`, filters);
  const waiting = useData<WaitingPage>(`${path}/events?limit=100`);
  const { cursor } = said;
  return (
    <>
      <h1>Session {sessionKey}</h1>
      <Problem text={said.problem.value ?? waiting.problem.value} />
      <h2>Waiting events</h2>
      {waiting.body.value?.events.length === 0 && <p>None.</p>}
      {waiting.body.value?.events.map(({ id, text }, at) => (
        <Text key={id} text={text} label={`Event ${at + 1}`} />
      ))}
      {waiting.body.value?.nextCursor != null && <p>More wait behind these.</p>}
      <h2>Messages</h2>
      {said.body.value?.messages.length === 0 && <p>None.</p>}
      {said.body.value?.messages.map(({ id, role, text, time }, at) => (
        <section key={id}>
          <h3>
            {role} <Time at={time} />
          </h3>
          <Text text={text} label={`Message ${at + 1}, ${role}`} />
        </section>
      ))}
      <PageLinks page="sessions" of={sessionKey} cursor={cursor} next={said.body.value?.nextCursor}>
        Older messages
      </PageLinks>
    </>
  );
}

interface Sent {
  readonly id: number;
  readonly channel: string;
  readonly to: string;
  readonly text: string;
  readonly time: string;
  readonly state: string;
}

interface SentPage {
  readonly messages: readonly Sent[];
  readonly nextCursor: string | null;
}

/** What agents and notices sent on the channels, the newest first. */
export function OutboxView({ filters }: ListProps): JSX.Element {
  const { body, problem, cursor } = usePage<SentPage>("outbox?limit=100", filters);
  return (
    <>
      <h1>Outbox</h1>
      <Problem text={problem.value} />
      {body.value?.messages.length === 0 && <p>No message.</p>}
      {body.value?.messages.map(({ id, channel, to, text, time, state }, at) => (
        <section key={id}>
          <h2>
            {channel} to {to}: {state} <Time at={time} />
          </h2>
          <Text text={text} label={`Message ${at + 1}`} />
        </section>
      ))}
      <PageLinks page="outbox" cursor={cursor} next={body.value?.nextCursor}>
        Older messages
      </PageLinks>
    </>
  );
}
