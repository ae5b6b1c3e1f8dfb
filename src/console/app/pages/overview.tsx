import type { JSX } from "preact";
import type { DeliverySummary } from "../../../core/delivery.ts";
import { type State, STATES } from "../../../core/run.ts";
import { budgetParts } from "../../../core/budget-use.ts";
import type { HookStates, MappingStats, OutageState } from "../../../index.ts";
import { useData } from "../data.ts";
import { linkTo } from "../location.ts";
import { Problem, StateMark, Time } from "../parts.tsx";
import { Calls, STATS_EVERY_MS } from "./calls.tsx";

interface Listed {
  readonly deliveries: readonly DeliverySummary[];
  readonly nextCursor: string | null;
}

interface Status {
  readonly ready: boolean;
  readonly problems: readonly { readonly code: string; readonly message: string }[];
  readonly refused: { readonly at: string; readonly issues: readonly string[] } | null;
  readonly freeDiskBytes: number | null;
  readonly databaseBytes: number | null;
  readonly turnsElsewhere?: number;
  readonly hooksUrl?: string | null;
  readonly exposed?: { readonly via: string; readonly url: string | null; readonly problem: string | null } | null;
}

/** The answer of `deliveries/stats`; see `src/api/stats.ts`. */
interface Stats {
  readonly mappings: readonly MappingStats[];
  readonly forecastBytes: number;
}

/** What needs the owner now, and the last hour. */
export function OverviewView(): JSX.Element {
  const status = useData<Status>("status");
  const hooks = useData<HookStates>("hooks");
  const day = useData<Stats>("deliveries/stats", { everyMs: STATS_EVERY_MS });
  const outages = useData<{ readonly outages: readonly OutageState[] }>("outages");
  const failures = useData<Listed>("deliveries?open=true&limit=200");
  const queued = useData<Listed>("deliveries?state=queued&limit=200");
  const problem = [status, hooks, day, outages, failures, queued].map((each) => each.problem.value).find(Boolean);
  const counts = (state: State): number =>
    (day.body.value?.mappings ?? []).reduce((sum, { states }) => sum + (states[state] ?? 0), 0);
  return (
    <>
      <h1>Overview</h1>
      <Problem text={problem} />
      <Needs
        status={status.body.value}
        hooks={hooks.body.value}
        outages={outages.body.value?.outages}
        failures={failures.body.value}
      />
      {status.body.value?.hooksUrl != null && (
        <p>
          Senders reach the hooks under <code>{status.body.value.hooksUrl}</code>
        </p>
      )}
      {(status.body.value?.turnsElsewhere ?? 0) > 0 && (
        <p>Other gateways on the database take {status.body.value?.turnsElsewhere} turns at once.</p>
      )}
      <h2>The last day</h2>
      <dl class="cards">
        {STATES.map((state) => [state, counts(state)] as const)
          .filter(([state, count]) => count > 0 || state === "done" || state === "failed" || state === "queued")
          .map(([state, count]) => (
            <div key={state}>
              <dt>
                <StateMark state={state} />
              </dt>
              <dd>
                <a href={linkTo("deliveries", "", { state, since: "24h" })}>{count}</a>
              </dd>
            </div>
          ))}
        <div>
          <dt>oldest queued</dt>
          <dd>
            <OldestQueued listed={queued.body.value} />
          </dd>
        </div>
        <div>
          <dt>disk used, and free</dt>
          <dd>
            {gigabytes(status.body.value?.databaseBytes)}, {gigabytes(status.body.value?.freeDiskBytes)}
          </dd>
        </div>
        <div>
          <dt title="what the deliveries come to under the current retention">disk forecast</dt>
          <dd>{gigabytes(day.body.value?.forecastBytes)}</dd>
        </div>
      </dl>
      <h2>Calls</h2>
      <Calls />
      <Budgets hooks={hooks.body.value} />
    </>
  );
}

function OldestQueued({ listed }: { readonly listed: Listed | undefined }): JSX.Element {
  const oldest = listed?.deliveries.at(-1);
  if (listed === undefined || oldest === undefined) return <>none</>;
  const minutes = Math.floor((Date.now() - Date.parse(oldest.receivedAt)) / 60_000);
  return (
    <a href={linkTo("deliveries", oldest.id)}>
      {listed.nextCursor === null ? "" : "over "}
      {minutes < 1 ? "under 1 min" : `${minutes} min`}
    </a>
  );
}

/** The budgets that are used most. */
function Budgets({ hooks }: { readonly hooks: HookStates | undefined }): JSX.Element | null {
  const shown = [hooks?.all, ...(hooks?.mappings ?? [])].flatMap((state) =>
    budgetParts(state?.budget ?? null)
      .filter(({ share }) => share > 0)
      .map((part) => ({ name: state?.scope, part })),
  );
  if (shown.length === 0) return null;
  return (
    <>
      <h2>Budgets</h2>
      <ul>
        {shown.map(({ name, part: { used, limit, when, share, measure } }) => (
          <li key={`${name} ${measure} ${when}`}>
            {name === "*" ? "all runs" : name}:{" "}
            <progress aria-label={`Budget of ${name} ${when}`} max={1} value={share} /> {used} of {limit}
            {measure === "runs" && " runs"} {when}
          </li>
        ))}
      </ul>
    </>
  );
}

interface NeedsProps {
  readonly status: Status | undefined;
  readonly hooks: HookStates | undefined;
  readonly outages: readonly OutageState[] | undefined;
  readonly failures: Listed | undefined;
}

/** Each problem with the page or the command that fixes it. */
function Needs({ status, hooks, outages, failures }: NeedsProps): JSX.Element {
  if (status === undefined || hooks === undefined || outages === undefined || failures === undefined)
    return <p role="status">Reading …</p>;
  const scopes = [hooks.all, ...hooks.mappings];
  const open = failures.deliveries.length;
  const hasMore = failures.nextCursor !== null;
  const needs = [
    ...status.problems.map(({ message }) => <>{message}</>),
    ...(status.exposed?.problem == null
      ? []
      : [
          <>
            {status.exposed.via}: {status.exposed.problem}
          </>,
        ]),
    ...(status.refused?.issues ?? []).map((issue) => <>In the refused file: {issue}</>),
    ...scopes.flatMap(({ scope, broken }) =>
      broken === null
        ? []
        : [
            <>
              {scope === "*" ? "All calls are refused" : `${scope} is set aside`}: {broken}
            </>,
          ],
    ),
    ...scopes.flatMap(({ scope, paused }) =>
      paused === null
        ? []
        : [
            <>
              {scope === "*" ? "Everything" : scope} is paused since <Time at={paused.since} />: {paused.reason}.{" "}
              <a href={linkTo("hooks")}>Resume it</a>
            </>,
          ],
    ),
    ...outages.map(({ subject, text, detail, failures: count }) => (
      <>
        {text ?? `${subject} does not work since before the start.`} {detail}
        {count > 1 && ` (${count} failures)`}
      </>
    )),
    ...(open === 0
      ? []
      : [
          <a href={linkTo("deliveries", "", { open: "true" })}>
            {open}
            {hasMore && " or more"} open {open === 1 && !hasMore ? "failure" : "failures"}
          </a>,
        ]),
  ];
  if (needs.length === 0) return <p class="note good">✓ Nothing needs you.</p>;
  return (
    <ul class="note problem" aria-label="What needs you">
      {needs.map((need, at) => (
        <li key={at}>{need}</li>
      ))}
    </ul>
  );
}

function gigabytes(bytes: number | null | undefined): string {
  if (bytes == null) return "unknown";
  return bytes < 1e8 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}
