import { useSignal } from "@preact/signals";
import type { JSX, TargetedEvent } from "preact";
import type { Preview, PreviewedMapping, PreviewedRun } from "../../../index.ts";
import { errorText, read, fetchText, sendRequest } from "../client.ts";
import { linkTo } from "../location.ts";
import { ActionButton, Problem, Text } from "../parts.tsx";
import { diffLines } from "./diff-lines.ts";

/** Judges a payload by the active configuration. Nothing is stored or sent. */
export function PlaygroundView({ filters }: { readonly filters: URLSearchParams }): JSX.Element {
  const preview = useSignal<Preview | undefined>(undefined);
  const problem = useSignal<string | undefined>(undefined);
  const path = useSignal(filters.get("path") ?? "");
  const payload = useSignal("{\n  \n}");
  const id = useSignal(filters.get("delivery") ?? "");
  const taken = useSignal("");
  const written = id.value.trim();
  // Its headers may say which event it is.
  const delivery = written !== "" && taken.value === written ? written : undefined;
  const ask = (edit?: string): Promise<Preview> =>
    sendRequest<Preview>("deliveries/preview", { path: path.value, payload: payload.value, delivery, edit });
  const judge = async (event: TargetedEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    problem.value = undefined;
    try {
      preview.value = await ask();
    } catch (error) {
      problem.value = errorText(error);
    }
  };
  const take = async (): Promise<undefined> => {
    const from = `deliveries/${encodeURIComponent(written)}`;
    const [text, { route }] = await Promise.all([fetchText(`${from}/body`), read<{ route: string }>(from)]);
    payload.value = text;
    path.value = route;
    taken.value = written;
  };
  return (
    <>
      <h1>Playground</h1>
      <p class="faint">Shows what the mappings of today make of a payload. Nothing is stored or sent.</p>
      <div class="bar">
        <label>
          Delivery
          <input value={id.value} onInput={(event) => (id.value = event.currentTarget.value)} />
        </label>
        <ActionButton label="Take its payload" run={take} isDisabled={written === ""} />
        {delivery !== undefined && <span class="faint">Its headers count as well, until this field is empty.</span>}
      </div>
      <form onSubmit={(event) => void judge(event)}>
        <label>
          Route
          <input required value={path.value} onInput={(event) => (path.value = event.currentTarget.value)} />
        </label>
        <p>
          <label class="row" for="payload">
            Payload
          </label>
          <textarea
            id="payload"
            spellcheck={false}
            value={payload.value}
            onInput={(event) => (payload.value = event.currentTarget.value)}
          />
        </p>
        <button type="submit" class="main">
          Try
        </button>
      </form>
      <Problem text={problem.value} />
      {preview.value !== undefined && <Judged preview={preview.value} />}
      {preview.value?.mapping && (
        <Editor key={preview.value.mapping.id} mapping={preview.value.mapping} tryEdit={ask} />
      )}
    </>
  );
}

function Judged({ preview, label = "Outcome" }: { readonly preview: Preview; readonly label?: string }): JSX.Element {
  const { outcome, reason, mappingId, runs, wait } = preview;
  return (
    <section aria-label={label}>
      <p class={outcome === "refused" || outcome === "failed" ? "note problem" : "note"} role="status">
        {outcome === "runs" ? `It starts ${runs.length === 1 ? "a run" : `${runs.length} runs`}.` : `It is ${outcome}.`}{" "}
        {reason} {mappingId !== null && `Mapping: ${mappingId}.`}
      </p>
      {wait?.map((line) => (
        <p key={line} class="note">
          {line}
        </p>
      ))}
      {runs.map((run, at) => (
        <section key={at}>
          <RunFacts run={run} />
          {run.extraction !== undefined && (
            <Text text={run.extraction} label={`${label}: prompt of the extraction of run ${at + 1}`} />
          )}
          <Text text={run.prompt} label={`${label}: prompt of run ${at + 1}`} />
        </section>
      ))}
    </section>
  );
}

interface EditorProps {
  readonly mapping: PreviewedMapping;
  readonly tryEdit: (edit: string) => Promise<Preview>;
}

/** Changes the mapping for the payload above; the configuration changes only when its owner pastes the result. */
function Editor({ mapping, tryEdit }: EditorProps): JSX.Element {
  const template = useSignal(mapping.template);
  const instructions = useSignal(mapping.instructions);
  const preview = useSignal<Preview | undefined>(undefined);
  const others = useSignal("");
  const edit = pasteable(mapping, {
    template: template.value,
    instructions: instructions.value,
    others: others.value.trim(),
  });
  const run = async (): Promise<undefined> => {
    preview.value = await tryEdit(edit);
  };
  const field = (id: string, label: string, text: typeof template): JSX.Element => (
    <p>
      <label class="row" for={id}>
        {label}
      </label>
      <textarea
        id={id}
        spellcheck={false}
        value={text.value}
        onInput={(event) => (text.value = event.currentTarget.value)}
      />
    </p>
  );
  return (
    <section aria-label="Edit the mapping">
      <h2>Edit {mapping.id}</h2>
      {field("instructions", "Instructions (your words, outside the boundary)", instructions)}
      {field("template", "Template", template)}
      {field("others", 'Other keys as JSON5, such as when: "payload.amount > 10.0", channel: "console"', others)}
      <ActionButton label="Try the edit" run={run} isMain />
      {preview.value !== undefined && <Judged preview={preview.value} label="Outcome of the edit" />}
      <h3>To keep it</h3>
      <p class="faint">
        {mapping.isOfPreset
          ? "Write these keys, without id, preset and match, into the block of the preset or sender: a mapping of your own in hooks.mappings would have nothing of that block, its filter and its rights among it."
          : "Write these keys into the mapping with this id in hooks.mappings."}{" "}
        The <a href={linkTo("backtest", "", { edit })}>backtest</a> shows what it changes for the calls that came.
      </p>
      <Text text={edit} label="Mapping as JSON5" />
    </section>
  );
}

/** A list with the changed mapping, as the backtest takes it. */
function pasteable(
  { id, isOfPreset, preset, path, templateKey, template: before, instructions: told }: PreviewedMapping,
  { template, instructions, others }: Record<"template" | "instructions" | "others", string>,
): string {
  const keys: [string, string][] = [
    ["id", JSON.stringify(id)],
    ...(isOfPreset
      ? ([
          ["preset", JSON.stringify(preset)],
          ["match", `{ path: ${JSON.stringify(path)} }`],
        ] as [string, string][])
      : []),
    ...(instructions === told ? [] : ([["instructions", JSON.stringify(instructions)]] as [string, string][])),
    ...(template === before ? [] : ([[templateKey, JSON.stringify(template)]] as [string, string][])),
  ];
  return `[\n  {\n${keys.map(([key, value]) => `    ${key}: ${value},\n`).join("")}${others === "" ? "" : `    ${others}\n`}  },\n]`;
}

function RunFacts({ run }: { readonly run: PreviewedRun }): JSX.Element {
  const { kind, agentId, sessionKey, target } = run;
  return (
    <p>
      {kind} by agent {agentId} in session {sessionKey}; reply to {target ?? "no one"}
    </p>
  );
}

interface Compared {
  readonly accepted: readonly PreviewedRun[];
  readonly now: Preview | null;
}

/** The prompts as they were accepted and by today's mapping, with what differs. */
export function PromptDiff({ path }: { readonly path: string }): JSX.Element {
  const compared = useSignal<Compared | undefined>(undefined);
  const compare = async (): Promise<undefined> => {
    compared.value = await read<Compared>(`${path}/preview`);
  };
  return (
    <section>
      <h2>Prompts</h2>
      <ActionButton label="Compare the prompts before a replay" run={compare} />
      {compared.value !== undefined && <Sides {...compared.value} />}
    </section>
  );
}

/** What models are given for a run. */
function textOf(run: PreviewedRun | undefined): string {
  return [run?.extraction, run?.prompt].filter((text) => text !== undefined).join("\n\n");
}

function Sides({ accepted, now }: Compared): JSX.Element {
  if (now === null) return <p>The payload is not kept, so that today's mapping cannot be tried.</p>;
  const count = Math.max(accepted.length, now.runs.length);
  return (
    <>
      <p role="status">
        By today's mapping: {now.outcome === "runs" ? `${now.runs.length} to run` : now.outcome}
        {now.reason !== null && `: ${now.reason}`}
      </p>
      {Array.from({ length: count }, (_, at) => {
        const lines = diffLines(textOf(accepted[at]), textOf(now.runs[at]));
        return (
          <div class="sides" key={at}>
            <div>
              <h3>As accepted</h3>
              <pre tabIndex={0} role="region" aria-label={`Accepted prompt ${at + 1}`}>
                {lines.map(({ text, side }) =>
                  side === "after" ? null : side === "before" ? (
                    <del>
                      - {text}
                      {"\n"}
                    </del>
                  ) : (
                    `  ${text}\n`
                  ),
                )}
              </pre>
            </div>
            <div>
              <h3>By today's mapping</h3>
              <pre tabIndex={0} role="region" aria-label={`Prompt by today's mapping ${at + 1}`}>
                {lines.map(({ text, side }) =>
                  side === "before" ? null : side === "after" ? (
                    <ins>
                      + {text}
                      {"\n"}
                    </ins>
                  ) : (
                    `  ${text}\n`
                  ),
                )}
              </pre>
            </div>
          </div>
        );
      })}
    </>
  );
}
