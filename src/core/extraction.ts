/** What a model of its own takes from a payload before an agent runs: a form of the owner, and nothing else. */

/** One field of the form; everything in it has a bound. */
export type ExtractField =
  | ({
      readonly type: "object";
      readonly properties: Readonly<Record<string, ExtractField>>;
      readonly required: readonly string[];
    } & Described)
  | ({ readonly type: "array"; readonly items: ExtractField; readonly maxItems: number } & Described)
  | ({ readonly type: "string"; readonly maxLength: number; readonly pattern?: string | undefined } & Described)
  | ({ readonly type: "enum"; readonly values: readonly string[] } & Described)
  | ({ readonly type: "integer" | "number"; readonly minimum: number; readonly maximum: number } & Described)
  | ({ readonly type: "boolean" } & Described);

interface Described {
  /** The owner's words to the model. */
  readonly description?: string | undefined;
}

export type ExtractForm = Extract<ExtractField, { readonly type: "object" }>;

/** The stage before a run; the run is given what comes of it, and never the text itself. */
export interface ExtractSpec {
  readonly form: ExtractForm;
  /** Absent: that of the agent. */
  readonly model?: string | undefined;
  /** The owner's words to the model that fills the form. */
  readonly instructions?: string | undefined;
}

/** What a host is asked to have a model fill. */
export interface ExtractionRequest {
  /** Of the run's attempt, for the log. */
  readonly runId: string;
  /** Whose model is asked when `model` is absent. */
  readonly agentId: string;
  readonly model?: string | undefined;
  /** The words of the gateway and its owner, for the system prompt. */
  readonly instructions: string;
  /** The payload, inside the boundary. */
  readonly prompt: string;
  /** The form as JSON Schema, for models that take one. The caller checks the reply. */
  readonly schema: object;
  /** A longer reply fails. */
  readonly maxReplyChars: number;
  readonly traceparent?: string | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}
