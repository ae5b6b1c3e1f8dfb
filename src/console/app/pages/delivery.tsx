import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { DeliveryDetail } from "../../../core/delivery.ts";
import { sendRequest } from "../client.ts";
import { useData } from "../data.ts";
import { linkTo } from "../location.ts";
import { ActionButton, Problem, StateMark, Time } from "../parts.tsx";
import { PayloadView } from "./payload.tsx";
import { PromptDiff } from "./preview.tsx";
import { Run } from "./run.tsx";

/** One delivery: why it is in its state, its runs, its request, and what an owner can do about it. */
export function DeliveryView({ id }: { readonly id: string }): JSX.Element {
  const path = `deliveries/${encodeURIComponent(id)}`;
  const { body, problem, reload } = useData<DeliveryDetail>(path);
  const delivery = body.value;
  return (
    <>
      <h1>Delivery {id}</h1>
      <Problem text={problem.value} />
      {delivery === undefined && problem.value === undefined && <p role="status">Reading …</p>}
      {delivery !== undefined && (
        <>
          <Facts delivery={delivery} />
          <Actions path={path} delivery={delivery} reload={reload} />
          <PromptDiff path={path} />
          <h2>Timeline</h2>
          <ol>
            <li>
              received <Time at={delivery.receivedAt} />
              {delivery.mappingId !== null && `, mapped by ${delivery.mappingId}`}
            </li>
            {delivery.answered !== undefined && <li>verified, stored and answered {delivery.answered}</li>}
            {delivery.runs.length === 0 && (
              <li>
                ended without a run: <StateMark state={delivery.state} /> {delivery.reason}
              </li>
            )}
          </ol>
          {delivery.runs.map((run, at) => (
            <Run key={run.id} run={run} number={at + 1} acceptedAt={delivery.receivedAt} />
          ))}
          <h2>Request</h2>
          <Fields title="Headers" fields={delivery.headers} />
          <Fields title="Query" fields={delivery.query} />
          <PayloadView path={path} bytes={delivery.bodyBytes} />
        </>
      )}
    </>
  );
}

function Facts({ delivery }: { readonly delivery: DeliveryDetail }): JSX.Element {
  const { state, reason, route, name, event, actor, level, relatedTo, replayedAs, resolved, replays, duplicates } =
    delivery;
  return (
    <dl class="facts">
      <dt>State</dt>
      <dd>
        <StateMark state={state} />
      </dd>
      <dt>Reason</dt>
      <dd>{reason ?? "none is needed"}</dd>
      <dt>Route</dt>
      <dd>{route}</dd>
      <dt>Name</dt>
      <dd>{name}</dd>
      <dt>Event</dt>
      <dd>{event ?? "unknown"}</dd>
      <dt>Actor</dt>
      <dd>
        {actor ?? "unknown"}
        {level !== null && ` (${level})`}
      </dd>
      {delivery.chain !== undefined && (
        <>
          <dt>Chain</dt>
          <dd>
            caused by a run that <a href={linkTo("deliveries", delivery.chain.id)}>{delivery.chain.id}</a> began, at
            depth {delivery.chain.depth}
          </dd>
        </>
      )}
      {relatedTo !== null && (
        <>
          <dt>{relatedTo.how} of</dt>
          <dd>
            <a href={linkTo("deliveries", relatedTo.deliveryId)}>{relatedTo.deliveryId}</a>
          </dd>
        </>
      )}
      {duplicates !== undefined && duplicates.length > 0 && (
        <>
          <dt>Repeated by</dt>
          <dd>
            <ul>
              {duplicates.map((repeat) => (
                <li key={repeat.id}>
                  <a href={linkTo("deliveries", repeat.id)}>{repeat.id}</a> <Time at={repeat.receivedAt} />
                </li>
              ))}
            </ul>
          </dd>
        </>
      )}
      {replayedAs !== undefined && (
        <>
          <dt>Replayed as</dt>
          <dd>
            <a href={linkTo("deliveries", replayedAs.deliveryId)}>{replayedAs.deliveryId}</a>{" "}
            <StateMark state={replayedAs.state} />
          </dd>
        </>
      )}
      {(replays ?? []).map(({ id, state: of }) => (
        <>
          <dt>Replay</dt>
          <dd>
            <a href={linkTo("deliveries", id)}>{id}</a> <StateMark state={of} />
          </dd>
        </>
      ))}
      {resolved !== undefined && (
        <>
          <dt>Resolved</dt>
          <dd>
            <Time at={resolved.at} /> {resolved.note}
          </dd>
        </>
      )}
    </dl>
  );
}

interface ActionsProps {
  readonly path: string;
  readonly delivery: DeliveryDetail;
  readonly reload: () => Promise<void>;
}

interface Outcome {
  readonly outcome: string;
  readonly replay?: { readonly deliveryId: string };
}

function Actions({ path, delivery, reload }: ActionsProps): JSX.Element {
  const note = useSignal("");
  const isOpen = ["queued", "running", "held"].includes(delivery.state);
  const replay = async (asAccepted: boolean): Promise<undefined> => {
    const { replay } = await sendRequest<Outcome>(`${path}/replay`, { asAccepted });
    location.hash = linkTo("deliveries", replay?.deliveryId ?? delivery.id);
  };
  const release = async (): Promise<undefined> => {
    const { replay } = await sendRequest<Outcome>(`${path}/release`);
    if (replay === undefined) await reload();
    else location.hash = linkTo("deliveries", replay.deliveryId);
  };
  const cancel = async (): Promise<string> => {
    await sendRequest(`${path}/cancel`);
    await reload();
    return "Canceled.";
  };
  const resolve = async (): Promise<string> => {
    await sendRequest(`${path}/resolve`, note.value.trim() === "" ? {} : { note: note.value });
    await reload();
    return "Resolved.";
  };
  const purge = async (): Promise<string | undefined> => {
    const { outcome } = await sendRequest<Outcome>(path, {}, "DELETE");
    if (outcome !== "emptied") {
      location.hash = linkTo("deliveries");
      return undefined;
    }
    await reload();
    return "Its request is removed. It stays listed for now: it is the newest delivery, or copies of it could arrive.";
  };
  return (
    <div class="bar">
      <ActionButton label="Replay by today's mapping" run={() => replay(false)} isMain isDisabled={isOpen} />
      <ActionButton label="Replay as accepted" run={() => replay(true)} isDisabled={isOpen} />
      {delivery.state === "held" && <ActionButton label="Release" run={release} isMain />}
      <ActionButton label="Cancel" run={cancel} isDisabled={!isOpen} />
      <a href={linkTo("playground", "", { delivery: delivery.id, path: delivery.route })}>Open in the playground</a>
      {delivery.state === "failed" && delivery.resolved === undefined && (
        <>
          <input
            aria-label="Why it needs nothing more"
            placeholder="note"
            maxLength={500}
            value={note.value}
            onInput={({ currentTarget }) => (note.value = currentTarget.value)}
          />
          <ActionButton label="Resolve" run={resolve} />
        </>
      )}
      <ActionButton label="Purge" run={purge} isDisabled={isOpen} />
    </div>
  );
}

function Fields({ title, fields }: { title: string; fields: Readonly<Record<string, string>> }): JSX.Element | null {
  const entries = Object.entries(fields);
  if (entries.length === 0) return null;
  return (
    <details>
      <summary>
        {title} ({entries.length})
      </summary>
      <dl class="facts">
        {entries.map(([name, value]) => (
          <>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </>
        ))}
      </dl>
    </details>
  );
}
