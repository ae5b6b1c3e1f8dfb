import type { AgentSpec, RunSpec, WakeSpec } from "../../core/run.ts";

/** A spec as it is stored: its text, nearly all of it, as it is, and the rest as JSON. */
export interface StoredSpec {
  readonly text: string | null;
  readonly json: string;
}

/**
 * Splits a spec for storing. JSON costs 3 microseconds a kilobyte for escaping quotes, and a column
 * of text nothing; only a text that UTF-8 cannot represent stays within the JSON.
 */
export function storeSpec(spec: RunSpec): StoredSpec {
  const text = textOf(spec);
  if (!text.isWellFormed()) return { text: null, json: JSON.stringify(spec) };
  // A copy whose text is undefined costs half of one that leaves it out.
  const rest = spec.kind === "wake" ? { ...spec, text: undefined } : { ...spec, message: undefined };
  return { text, json: JSON.stringify(rest) };
}

/** The spec that {@link storeSpec} was given; its text is empty when retention has removed it. */
export function restoreSpec({ text, json }: StoredSpec): RunSpec {
  const spec = JSON.parse(json) as Unspoken<WakeSpec> | Unspoken<AgentSpec>;
  return spec.kind === "wake"
    ? ({ ...spec, text: text ?? spec.text ?? "" } satisfies WakeSpec)
    : ({ ...spec, message: text ?? spec.message ?? "" } satisfies AgentSpec);
}

/** A spec of which the text may be missing. */
type Unspoken<Spec extends RunSpec> = Omit<Spec, "text" | "message"> & {
  readonly text?: string;
  readonly message?: string;
};

/** The text of the spec for the agent or the session. */
export function textOf(spec: RunSpec): string {
  return spec.kind === "wake" ? spec.text : spec.message;
}
