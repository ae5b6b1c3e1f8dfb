import bytes from "bytes";
import ms, { type StringValue } from "ms";
import Type, { type TSchema } from "typebox";
import type { Findings } from "./errors.ts";

/** Smallest and largest value, both allowed. */
export interface Bounds {
  readonly minimum: number;
  readonly maximum: number;
}

/** Bytes of a request body that a limit may allow: up to 64 MiB. */
export const BODY_BYTES: Bounds = { minimum: 1, maximum: 67_108_864 };
/** Bytes of all unverified bodies together: up to 4 GiB. */
export const BUDGET_BYTES: Bounds = { minimum: 1, maximum: 4_294_967_296 };
/** Seconds for which an idempotency key may be remembered: up to a year. */
export const TTL_SECONDS: Bounds = { minimum: 1, maximum: 31_536_000 };
export const DAY_SECONDS = 86_400;
/** Seconds that a run may take: up to a day. */
export const RUN_SECONDS: Bounds = { minimum: 0.001, maximum: DAY_SECONDS };
/** Seconds that a caller may wait for the result. */
export const WAIT_SECONDS: Bounds = { minimum: 0.1, maximum: 300 };
/** Seconds for which deliveries may be kept: up to ten years. */
/** Between two probes. */
export const PROBE_SECONDS: Bounds = { minimum: 60, maximum: 2_592_000 };
export const RETENTION_SECONDS: Bounds = { minimum: 1, maximum: 315_360_000 };
/** Bytes that the database may grow to: from 1 MiB to 1 TiB. */
export const STORE_BYTES: Bounds = { minimum: 1_048_576, maximum: 1_099_511_627_776 };

interface KeyOptions {
  readonly description: string;
  /** A noun phrase for the value, used in messages and in the reference. */
  readonly title?: string;
}

interface TextOptions extends KeyOptions {
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly writeOnly?: boolean;
}

const MAX_TEXT = 1_024;
const MAX_TEMPLATE = 100_000;
const SIZE_TITLE = 'a number of bytes or a size such as "256kb"';
const DURATION_TITLE = 'a number of seconds or a duration such as "24h"';
const SECRET_TITLE = '{ "env": "NAME" } or { "file": "path" }';

/** An optional key whose default is in the schema, where code and the reference read it. */
export function withDefault<Schema extends TSchema, const Value>(
  schema: Schema,
  value: Value,
): ReturnType<typeof Type.Optional<Schema & { default: Value }>> {
  return Type.Optional(Object.assign(schema, { default: value }));
}

/** A string of at most 1,024 characters unless the options say otherwise. */
export const text = (options: TextOptions) => Type.String({ maxLength: MAX_TEXT, ...options });

/** A `{{path}}` template. */
export const template = (description: string) =>
  Type.Optional(text({ description, title: "a template", maxLength: MAX_TEMPLATE }));

/** The rest of a template from its first `{{` without an end. */
export function unclosedPlaceholder(template = ""): string | undefined {
  const rest = template.replaceAll(/\{\{[^}]*\}\}/g, (closed) => " ".repeat(closed.length));
  const at = rest.indexOf("{{");
  return at === -1 ? undefined : template.slice(at);
}

/** A whole number within bounds. */
export const whole = (bounds: Bounds, description: string) => Type.Integer({ ...bounds, description });

/** A number of seconds within bounds, fractions allowed. */
export const seconds = (bounds: Bounds, description: string) =>
  Type.Number({ ...bounds, description, title: "a number of seconds" });

export const flag = (description: string) => Type.Boolean({ description });

/** A list of short strings. */
export const texts = (maxItems: number, options: Required<KeyOptions>) =>
  Type.Array(Type.String({ maxLength: MAX_TEXT }), { maxItems, ...options });

/** A number of bytes, or a string that {@link readBodyBytes} takes. */
export const size = (bounds: Bounds, description: string) =>
  Type.Union(
    [
      Type.Integer({ ...bounds }),
      Type.String({ title: SIZE_TITLE, pattern: "^(?:[0-9]+ ?[bB]?|[0-9]+(?:\\.[0-9]+)? ?[kKmMgG][bB])$" }),
    ],
    { title: SIZE_TITLE, description },
  );

/** A number of seconds, or a string that {@link readTtlMs} takes. */
export const duration = (bounds: Bounds, description: string) =>
  Type.Union(
    [
      Type.Number({ ...bounds }),
      Type.String({ title: DURATION_TITLE, pattern: "^[0-9]+(?:\\.[0-9]+)? ?(?:ms|s|m|h|d|w)$" }),
    ],
    { title: DURATION_TITLE, description },
  );

/** A secret that is named and not written. */
export const secretReference = () =>
  Type.Object(
    {
      env: Type.Optional(
        text({
          description: "Name of an environment variable that holds the secret.",
          title: "the name of an environment variable",
          pattern: "^(?=\\s*\\S)[^=\\u0000]*$",
        }),
      ),
      file: Type.Optional(
        text({
          description: "Path of a file that holds the secret and nothing else; relative to the configuration's folder.",
          title: "the path of a file",
          pattern: "^(?=\\s*\\S)[^\\u0000]*$",
        }),
      ),
    },
    { additionalProperties: false, minProperties: 1, maxProperties: 1, title: SECRET_TITLE },
  );

/** One secret: a string, `{ env }` or `{ file }`. */
export const secret = (description: string) =>
  Type.Union([Type.String(), secretReference()], { title: `a string, ${SECRET_TITLE}`, description, writeOnly: true });

/** A secret, or several of which any may match: each as a string, `{ env }` or `{ file }`. */
export const secrets = (description: string) =>
  Type.Union(
    [
      Type.String(),
      secretReference(),
      Type.Array(Type.Union([Type.String(), secretReference()], { title: `a string, ${SECRET_TITLE}` }), {
        minItems: 1,
        maxItems: 16,
      }),
    ],
    { title: `a string, ${SECRET_TITLE}, or a list of those`, description, writeOnly: true },
  );

/** Bytes of a limit that the schema passed, by default of a body: a number, or a string such as `256kb`. */
export function readBodyBytes(
  value: number | string,
  path: string,
  findings: Findings,
  bounds: Bounds = BODY_BYTES,
): number {
  // The library takes "12zz" for 12; the schema has let nothing of the kind through.
  const size = typeof value === "number" ? value : (bytes.parse(value) ?? NaN);
  return within(size, bounds, "bytes", path, findings);
}

/** Milliseconds of a lifetime that the schema passed: seconds, or a string such as `24h`. */
export function readTtlMs(
  value: number | string,
  path: string,
  findings: Findings,
  bounds: Bounds = TTL_SECONDS,
): number {
  // A bare number in a string would be milliseconds to the library; the schema demands a unit there.
  const seconds = typeof value === "number" ? value : ms(value as StringValue) / 1_000;
  return Math.round(within(seconds, bounds, "seconds", path, findings) * 1_000);
}

/** Whole milliseconds of a number of seconds. */
export function milliseconds(seconds: number): number {
  return Math.round(seconds * 1_000);
}

/** The schema bounds numbers; what a string comes to is known only here. */
function within(value: number, bounds: Bounds, unit: string, path: string, findings: Findings): number {
  const { minimum, maximum } = bounds;
  if (!(value >= minimum && value <= maximum)) {
    findings.refuse(path, `must be between ${minimum} and ${maximum} ${unit}`);
  }
  return value;
}
