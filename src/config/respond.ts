import Type, { type Static } from "typebox";
import { flag, template, whole, withDefault } from "./schema-parts.ts";
import type { Findings } from "./errors.ts";
import { showValue } from "./show-value.ts";
import { readWaitCondition, type WaitCondition, WaitRefused, type WaitWish, wishProperties } from "./wait-wish.ts";

/** The answer of a mapping. */
export type RespondConfig =
  | { readonly kind: "ordinary" }
  /** The answer waits for the result. */
  | { readonly kind: "result" }
  | {
      readonly kind: "content";
      readonly status: number;
      /** Names in lower case. */
      readonly headers: Readonly<Record<string, string>>;
      /** A template; `undefined`: the ordinary body. */
      readonly body: string | undefined;
    };

/** A wait that an event makes; what is waited for is read, and has templates in it. */
export interface WaitMaking {
  readonly wish: WaitWish;
  readonly condition: WaitCondition;
  /** False: the event makes the wait and begins no run. */
  readonly run: boolean;
}

const WaitMakingSchema = Type.Object(
  { ...wishProperties, run: withDefault(flag("False: the event makes the wait and begins no run."), true) },
  {
    additionalProperties: false,
    description:
      "A wait that each accepted event makes for the session of its run. `note` and the `equals` of each `correlation` are templates.",
  },
);

/** `respond` of a mapping. */
export const RespondSchema = Type.Union(
  [
    Type.String({ pattern: "^result$", title: '"result" or an object of settings' }),
    Type.Object(
      {
        status: withDefault(whole({ minimum: 200, maximum: 299 }, "Status of the answer."), 200),
        headers: Type.Optional(
          Type.Record(Type.String(), Type.String({ maxLength: 1_024 }), {
            maxProperties: 16,
            title: "an object of at most 16 headers",
            description: "Headers of the answer, such as `content-type`. Not templates.",
          }),
        ),
        body: template(
          "Content of the answer; a template that can print `{{deliveryId}}` and `{{runId}}`, the ids of the delivery and of its first run. Absent: the ordinary content.",
        ),
        wait: Type.Optional(WaitMakingSchema),
      },
      { additionalProperties: false, description: "The answer to an accepted call, and the wait that it makes." },
    ),
  ],
  {
    title: '"result" or an object of settings',
    description:
      '`"result"`: the answer waits until the run is settled, and has its state and reply. An object: the answer that the sender needs for an accepted call, and a wait that the call makes. Absent: 200 or 202 as usual.',
  },
);

/** Headers that the server sets, or that mean more to a client than an answer to a webhook may say. */
const RESERVED_RESPONSE_HEADERS: ReadonlySet<string> = new Set([
  "alt-svc",
  "clear-site-data",
  "connection",
  "content-encoding",
  "content-length",
  "date",
  "keep-alive",
  "proxy-authenticate",
  "proxy-connection",
  "set-cookie",
  "set-cookie2",
  "strict-transport-security",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "www-authenticate",
]);
const NAME = /^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/;
/** Visible ASCII, spaces and tabs. */
const VALUE = /^[\t\x20-\x7e]*$/;
/** Statuses whose answer never has content (RFC 9110, 15.3.5 and 15.3.6). */
const WITHOUT_CONTENT: ReadonlySet<number> = new Set([204, 205]);

/** Reads the `respond` of a mapping; `where` is its key. */
export function readRespond(input: Static<typeof RespondSchema>, where: string, findings: Findings): RespondConfig {
  if (typeof input === "string") return { kind: "result" };
  const { status, headers, body } = input;
  if ((status ?? headers ?? body) === undefined && input.wait !== undefined) return { kind: "ordinary" };
  return readContent({ status, headers, body }, where, findings);
}

/** Reads `respond.wait` of a mapping. */
export function readWaitMaking(
  input: Static<typeof RespondSchema> | undefined,
  where: string,
  findings: Findings,
): WaitMaking | undefined {
  if (typeof input !== "object" || input.wait === undefined) return undefined;
  const { run = WaitMakingSchema.properties.run.default, ...wish } = input.wait;
  try {
    return { wish, condition: readWaitCondition(wish), run };
  } catch (error) {
    if (!(error instanceof WaitRefused)) throw error;
    findings.refuse(`${where}.wait`, error.message.replace(/\.$/, ""));
    return undefined;
  }
}

function readContent(
  { status = 200, headers = {}, body }: Exclude<Static<typeof RespondSchema>, string>,
  where: string,
  findings: Findings,
): RespondConfig {
  if (body !== undefined && WITHOUT_CONTENT.has(status)) {
    findings.refuse(`${where}.body`, `an answer with the status ${status} has no content; leave one of them out`);
  }
  return { kind: "content", status, headers: readHeaders(headers, `${where}.headers`, findings), body };
}

function readHeaders(
  written: Readonly<Record<string, string>>,
  where: string,
  findings: Findings,
): Readonly<Record<string, string>> {
  const headers = new Map<string, string>();
  for (const [key, value] of Object.entries(written)) {
    const name = key.toLowerCase();
    const problem = headerProblem(name, value, headers);
    if (problem !== undefined) findings.refuse(`${where}[${showValue(key)}]`, problem);
    headers.set(name, value.trim());
  }
  return Object.fromEntries(headers);
}

function headerProblem(name: string, value: string, others: ReadonlyMap<string, string>): string | undefined {
  if (!NAME.test(name)) return "is not the name of a header";
  if (RESERVED_RESPONSE_HEADERS.has(name)) return "cannot be set: it has a meaning of its own";
  if (others.has(name)) return "is there twice";
  return VALUE.test(value) ? undefined : "must be one line of visible ASCII characters";
}
