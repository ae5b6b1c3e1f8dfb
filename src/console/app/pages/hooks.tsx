import type { JSX } from "preact";
import { type BudgetUse, budgetParts } from "../../../core/budget-use.ts";
import type { ExposureRow } from "../../../config/rule-of-two.ts";
import type { HookStates, MappingState, MappingStats, ProbeResult, ScopeState } from "../../../index.ts";
import { sendRequest } from "../client.ts";
import { useData } from "../data.ts";
import { linkTo } from "../location.ts";
import { ActionButton, Problem, Table, Time } from "../parts.tsx";

const READ_STATS = { live: false, everyMs: 30_000 };

/** The mappings: where each is reached, what it has used of its budget, and whether it is paused. */
export function HooksView(): JSX.Element {
  const { body, problem, reload } = useData<HookStates>("hooks");
  const stats = useData<{ readonly mappings: readonly MappingStats[] }>("deliveries/stats", READ_STATS);
  const days = new Map(stats.body.value?.mappings.map((mapping) => [mapping.name, mapping]));
  const states = body.value;
  return (
    <>
      <h1>Senders and mappings</h1>
      <Problem text={problem.value} />
      {states === undefined ? (
        <p role="status">Reading …</p>
      ) : (
        <Table
          label="Mappings"
          titles={["Mapping", "URL", "Sender", "Action", "Last call", "Budget", "A day", "State"]}
        >
          <Row state={states.all} name="all runs" facts={{ broken: states.all.broken }} base="" reload={reload} />
          {states.mappings.map((mapping) => (
            <Row
              key={mapping.scope}
              state={mapping}
              name={mapping.scope}
              facts={mapping}
              base={(states.all.publicUrl ?? location.origin) + states.all.path}
              reload={reload}
              day={days.get(mapping.scope)}
            />
          ))}
        </Table>
      )}
      {states !== undefined && <Exposures rows={states.exposures} />}
    </>
  );
}

const VERDICTS = {
  two: "at most two",
  asked: "a person is in between",
  accepted: "all three, accepted",
  refused: "✕ all three",
  unknown: "not known",
} as const satisfies Record<ExposureRow["verdict"], string>;

/** What runs can reach, by mapping and level. */
function Exposures({ rows }: { readonly rows: readonly ExposureRow[] }): JSX.Element {
  const cell = ({ reads, verdict }: ExposureRow, parts: readonly string[]): string => {
    if (reads.length === 0) return "";
    return parts.length > 0 ? parts.join("; ") : verdict === "unknown" ? "not known" : "no";
  };
  return (
    <>
      <h2>Rule of Two</h2>
      <Table
        label="Rule of Two"
        titles={["Runs of", "Levels", "Agent", "Reads others", "Private data", "Outward", "Rule of Two"]}
      >
        {rows.map((row) => (
          <tr key={`${row.mappingId ?? row.route} ${row.levels.join()}`}>
            <th scope="row">{row.mappingId ?? `direct /${row.route}`}</th>
            <td>{row.levels.join(", ")}</td>
            <td>{row.agentId}</td>
            <td>{row.reads.length === 0 ? "no" : row.reads.join("; ")}</td>
            <td>{cell(row, row.private)}</td>
            <td>{cell(row, row.outward)}</td>
            <td>
              {VERDICTS[row.verdict]}
              {row.human !== null && `: ${row.human}`}
              {row.verdict === "accepted" && <div class="faint">{row.accepted}</div>}
            </td>
          </tr>
        ))}
      </Table>
    </>
  );
}

interface RowProps {
  readonly state: ScopeState;
  readonly name: string;
  readonly facts: Partial<MappingState>;
  /** What the route follows in the URL of the sender. */
  readonly base: string;
  readonly reload: () => Promise<void>;
  readonly day?: MappingStats | undefined;
}

function Row({ state, name, facts, base, reload, day }: RowProps): JSX.Element {
  const { scope, paused, budget } = state;
  const { route, source, preset, auth, action, broken, kept } = facts;
  const change = async (): Promise<string> => {
    const verb = paused === null ? "pause" : "resume";
    await sendRequest(`hooks/${encodeURIComponent(scope)}/${verb}`);
    await reload();
    return verb === "pause" ? "Paused: calls are accepted and wait." : "Continues.";
  };
  const probe = async (): Promise<string> => {
    const { ok, detail } = await sendRequest<ProbeResult>(`hooks/${encodeURIComponent(scope)}/probe`);
    if (!ok) throw new Error(`The probe: ${detail}.`);
    return `The probe: ${detail}.`;
  };
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>
        {route == null ? (
          source == null ? (
            ""
          ) : (
            `source ${source}`
          )
        ) : (
          <>
            <code>{`${base}/${route}`}</code> <a href={linkTo("deliveries", "", { route })}>deliveries</a>
          </>
        )}
      </td>
      <td>
        {preset} {auth != null && <span class="faint">by {auth}</span>}
      </td>
      <td>{action}</td>
      <td>
        <LastCall facts={facts} />
      </td>
      <td>
        <Budget use={budget} />
      </td>
      <td>{day !== undefined && <Day {...day} />}</td>
      <td>
        {broken != null && <p class="bad">✕ set aside: {broken}</p>}
        {kept != null && <p class="bad">keeps the version before: {kept}</p>}
        {paused !== null && (
          <p>
            Ⅱ paused since <Time at={paused.since} />: {paused.reason}
          </p>
        )}
        {facts.route != null && <ActionButton label={`Probe ${name}`} run={probe} />}
        <ActionButton label={`${paused === null ? "Pause" : "Resume"} ${name}`} run={change} />
      </td>
    </tr>
  );
}

/** Since the gateway has started. */
function LastCall({ facts }: { readonly facts: Partial<MappingState> }): JSX.Element | null {
  const { lastAcceptedAt, lastRefused } = facts;
  if (lastAcceptedAt === undefined) return null;
  return (
    <>
      {lastAcceptedAt === null ? "none since the start" : <Time at={lastAcceptedAt} />}
      {lastRefused != null && (
        <p class="bad">
          ✕ refused <Time at={lastRefused.at} />: {lastRefused.code}
          {lastRefused.reason !== null && ` (${lastRefused.reason})`}
        </p>
      )}
    </>
  );
}

/** What the last 24 hours had. */
function Day({ runs, tokens, costUsd }: MappingStats): JSX.Element {
  return (
    <>
      {runs} {runs === 1 ? "run" : "runs"}
      {tokens > 0 && <div class="faint">{tokens.toLocaleString()} tokens</div>}
      {costUsd > 0 && <div class="faint">${costUsd.toFixed(4)}</div>}
    </>
  );
}

function Budget({ use }: { readonly use: BudgetUse | null }): JSX.Element {
  return (
    <>
      {budgetParts(use).map(({ used, limit, when, share, measure }) => (
        <div key={`${measure} ${when}`}>
          <progress aria-label={`Budget ${when}`} max={1} value={share} />
          <div class="faint">
            {used} of {limit} {when}
          </div>
        </div>
      ))}
    </>
  );
}
