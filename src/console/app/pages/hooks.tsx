import type { JSX } from "preact";
import type { BudgetUse, HookStates, MappingState, ScopeState } from "../../../index.ts";
import { send } from "../client.ts";
import { useData } from "../data.ts";
import { linkTo } from "../location.ts";
import { ActionButton, Problem, Time } from "../parts.tsx";

/** The mappings: where each is reached, what it has used of its budget, and whether it is paused. */
export function HooksPage(): JSX.Element {
  const { body, problem, reload } = useData<HookStates>("hooks");
  const states = body.value;
  return (
    <>
      <h1>Senders and mappings</h1>
      <Problem text={problem.value} />
      {states === undefined ? (
        <p role="status">Reading …</p>
      ) : (
        <div class="scroll" tabIndex={0} role="region" aria-label="Mappings">
          <table>
            <thead>
              <tr>
                {["Mapping", "Route", "Sender", "Action", "Budget", "State"].map((title) => (
                  <th key={title} scope="col">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              <Row state={states.all} name="all runs" facts={{ broken: states.all.broken }} reload={reload} />
              {states.mappings.map((mapping) => (
                <Row key={mapping.scope} state={mapping} name={mapping.scope} facts={mapping} reload={reload} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

interface RowProps {
  readonly state: ScopeState;
  readonly name: string;
  readonly facts: Partial<MappingState>;
  readonly reload: () => Promise<void>;
}

function Row({ state, name, facts, reload }: RowProps): JSX.Element {
  const { scope, paused, budget } = state;
  const { route, source, preset, action, broken, kept } = facts;
  const change = async (): Promise<string> => {
    const verb = paused === null ? "pause" : "resume";
    await send(`hooks/${encodeURIComponent(scope)}/${verb}`);
    await reload();
    return verb === "pause" ? "Paused: calls are accepted and wait." : "Continues.";
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
          <a href={linkTo("deliveries", "", { route })}>{route}</a>
        )}
      </td>
      <td>{preset}</td>
      <td>{action}</td>
      <td>
        <Budget use={budget} />
      </td>
      <td>
        {broken != null && <p class="bad">✕ set aside: {broken}</p>}
        {kept != null && <p class="bad">keeps the version before: {kept}</p>}
        {paused !== null && (
          <p>
            Ⅱ paused since <Time at={paused.since} />: {paused.reason}
          </p>
        )}
        <ActionButton label={`${paused === null ? "Pause" : "Resume"} ${name}`} run={change} />
      </td>
    </tr>
  );
}

function Budget({ use }: { readonly use: BudgetUse | null }): JSX.Element {
  const parts = [
    ["in an hour", use?.perHour],
    ["in a day", use?.perDay],
  ] as const;
  return (
    <>
      {parts.map(([when, part]) =>
        part == null ? null : (
          <div key={when}>
            <progress aria-label={`Budget ${when}`} max={part.limit} value={part.used} />
            <div class="faint">
              {part.used} of {part.limit} {when}
            </div>
          </div>
        ),
      )}
    </>
  );
}
