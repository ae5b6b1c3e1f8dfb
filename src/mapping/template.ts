import type { Headers, PayloadContext, Query } from "../core/delivery.ts";
import { type CompiledPath, compilePath, lookup } from "../core/payload-path.ts";

/** The values that the expressions of a template read. */
export interface TemplateContext {
  /** The source of `{{payload.<path>}}` and `{{<path>}}`: JSON data, or the result of a transform. */
  readonly payload: unknown;
  /** Lower-case names; those that carry a credential are already gone. */
  readonly headers: Headers;
  readonly query: Query;
  /** The path below the prefix, as received: `github/push`. */
  readonly path: string;
  /** The value of `{{now}}`, printed as ISO 8601 UTC with milliseconds. */
  readonly now: Date;
  /** Further names, for templates that were compiled with them; a name comes before a key of the payload. */
  readonly facts?: Readonly<Record<string, string>>;
}

/** A template taken apart once, so that a render only looks up and concatenates. */
export interface CompiledTemplate {
  readonly source: string;
  /** True when the source holds no `{{...}}`, so that every render is the source itself. */
  readonly isStatic: boolean;
  /** The trimmed text of each `{{...}}`, in order; repeated ones are repeated. */
  readonly expressions: readonly string[];
  /** Renders in one pass: a value that looks like a template stays text. Never throws. */
  render(context: TemplateContext): string;
}

/**
 * Compiles a `{{path}}` template; every text is a valid one.
 *
 * `{{`, one or more characters other than `}`, and `}}` make an expression; anything else is literal.
 * An expression is `path`, `now`, `headers.<name>`, `query.<name>`, `payload.<path>`, or a path from
 * the payload's root; see {@link compilePath} for paths, {@link lookup} for what they reach and
 * {@link renderValue} for how values print; or one of `factNames`, read from the context's `facts`. What is missing prints nothing. There are no filters,
 * defaults, conditions or loops (behavior of the `{{path}}` templates of existing hook mappings).
 */
export function compileTemplate(source: string, factNames: readonly string[] = []): CompiledTemplate {
  const { literals, expressions } = split(source);
  const [first = "", ...following] = literals;
  const steps = expressions.map((expression, at) => ({
    read: compileExpression(expression, factNames),
    after: following[at]!,
  }));
  return {
    source,
    isStatic: expressions.length === 0,
    expressions,
    render(context) {
      let text = first;
      for (let at = 0; at < steps.length; at++) {
        const { read, after } = steps[at]!;
        text += read(context) + after;
      }
      return text;
    },
  };
}

/** Cuts a template into its expressions and the literals around them: one literal more than expressions. */
function split(source: string): { literals: string[]; expressions: string[] } {
  const literals: string[] = [];
  const expressions: string[] = [];
  let literalStart = 0;
  let open = source.indexOf("{{");
  while (open !== -1) {
    const close = source.indexOf("}", open + 2);
    if (close === -1) break;
    // Any `{{` before a lone or too early `}` fails for the same reason, so the search continues behind it.
    if (close > open + 2 && source[close + 1] === "}") {
      literals.push(source.slice(literalStart, open));
      expressions.push(source.slice(open + 2, close).trim());
      literalStart = close + 2;
    }
    open = source.indexOf("{{", Math.max(close, literalStart));
  }
  literals.push(source.slice(literalStart));
  return { literals, expressions };
}

type Read = (context: TemplateContext) => string;

function compileExpression(expression: string, factNames: readonly string[]): Read {
  if (factNames.includes(expression)) return ({ facts }) => facts?.[expression] ?? "";
  if (expression === "path") return (context) => context.path;
  if (expression === "now") return (context) => printTime(context.now);
  const name = /^(headers|query|payload)\./.exec(expression)?.[1];
  const path = compilePath(name === undefined ? expression : expression.slice(name.length + 1));
  if (path.length === 0) return () => "";
  return name === "headers" || name === "query" ? readFrom(name, path) : readFrom("payload", path);
}

function readFrom(root: "headers" | "query" | "payload", path: CompiledPath): Read {
  return (context) => renderValue(lookup(context[root], path));
}

function printTime(time: Date): string {
  return Number.isNaN(time.getTime()) ? "" : time.toISOString();
}

/**
 * Prints a value the way a template shows it: a string as is, a number or boolean by `String()`, an
 * object or array as compact JSON, and everything else (missing, `null`, a function, a bigint) as "".
 *
 * Only JSON data is printed. An object that holds a function named `toJSON`, a cycle or a bigint at
 * any depth, or whose getters throw, prints "": only a transform can make one, and its code is not
 * run here. Never throws.
 */
export function renderValue(value: unknown): string {
  switch (typeof value) {
    case "string":
      return value;
    case "number":
    case "boolean":
      return String(value);
    case "object":
      return value === null ? "" : renderObject(value);
    default:
      return "";
  }
}

function renderObject(value: object): string {
  try {
    return hasCustomJson(value) ? "" : JSON.stringify(value);
  } catch {
    // A cycle ends here too: it exhausts the stack of the walk, or JSON.stringify refuses it.
    return "";
  }
}

/**
 * Dates are let through: their `toJSON` is the engine's, unless an own property replaces a part of it.
 * The walk calls no method of the value, since an own property can replace any of them.
 */
function hasCustomJson(value: object): boolean {
  if (Object.getPrototypeOf(value) === Date.prototype) {
    return Object.hasOwn(value, "toJSON") || Object.hasOwn(value, "toISOString");
  }
  if ("toJSON" in value && typeof value.toJSON === "function") return true;
  for (const child of Object.values(value) as unknown[]) {
    if (typeof child === "object" && child !== null && hasCustomJson(child)) return true;
  }
  return false;
}

/** The ids that an answer can print. */
interface ResponseFacts {
  readonly deliveryId: string;
  /** Of the first run; `undefined` when there is none. */
  readonly runId: string | undefined;
}

/** The body of a mapping's own answer, made ready. */
export interface CompiledResponse {
  /** Never throws. */
  renderResponse(context: PayloadContext, facts: ResponseFacts): string;
}

/** Compiles the `body` of a `respond`: a template that can print `{{deliveryId}}` and `{{runId}}`. */
export function compileResponse(source: string): CompiledResponse {
  const template = compileTemplate(source, ["deliveryId", "runId"]);
  return {
    renderResponse: (context, { deliveryId, runId = "" }) =>
      template.render({ ...context, facts: { deliveryId, runId } }),
  };
}
