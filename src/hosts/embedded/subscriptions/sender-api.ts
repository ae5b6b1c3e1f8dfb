/** The API of a sender, asked with a token of the owner: bounded, without redirects, each failure with what to do. */
import { listAt, valueAt } from "../../../core/payload-text.ts";
import { SenderApiError } from "../errors.ts";

/** What the messages and the requests of every call have in common. */
export interface ApiFacts {
  /** The sender's name for people: `GitHub`. */
  readonly title: string;
  /** Where its API is, without a slash at the end. */
  readonly api: string;
  /** The token that it takes, for messages: `a token with the scope admin:repo_hook`. */
  readonly tokenKind: string;
  /** How a token is sent; empty where it is a part of the path. */
  headersOf(token: string): Readonly<Record<string, string>>;
}

export interface SenderCall {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below the base. It is never shown: it may hold the token. */
  readonly path: string;
  readonly body?: object;
  /** In words, for messages: `list the webhooks of acme/web`. */
  readonly act: string;
}

export interface ApiAnswer {
  readonly headers: Headers;
  /** Parsed JSON; `undefined` for an empty body. */
  readonly body: unknown;
}

export interface SenderApiOptions {
  readonly base: string;
  readonly token: string;
  /** Further texts that no message may hold. */
  readonly secrets?: readonly string[];
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
  /** Ends a call that is in progress. */
  readonly signal?: AbortSignal | undefined;
}

const TIMEOUT_MS = 15_000;
/** A hundred large events. */
const MAX_BYTES = 16_777_216;
const SAID_CHARS = 300;

/** On one line, without what a terminal would obey. */
function oneLine(text: string, maxChars: number): string {
  return text
    .slice(0, maxChars)
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ");
}

export class SenderApi {
  readonly token: string;
  readonly #facts: ApiFacts;
  readonly #options: Required<Omit<SenderApiOptions, "signal">> & Pick<SenderApiOptions, "signal">;

  constructor(facts: ApiFacts, options: SenderApiOptions) {
    this.#facts = facts;
    this.#options = { secrets: [], timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES, ...options };
    this.token = options.token;
  }

  /** Rejects with a {@link SenderApiError} unless the answer is 2xx and JSON or empty. */
  async call(call: SenderCall): Promise<ApiAnswer> {
    const response = await this.#fetch(call);
    const { status, headers } = response;
    if (status >= 300 && status < 400) {
      await response.body?.cancel();
      throw this.#error(call, `answered ${status}, a redirect${targetOf(headers)}`, REDIRECT_ADVICE, status);
    }
    const text = await this.#read(call, response);
    const body = parse(text);
    if (!response.ok) {
      const said = this.#said(body);
      const advice = adviceOf(status, headers, this.#facts);
      throw this.#error(call, `answered ${status}${said === "" ? "" : ` (${said})`}`, advice, status);
    }
    if (text !== "" && body === undefined) {
      throw this.#error(call, "answered with what is not JSON", "Check --api.", status);
    }
    return { headers, body };
  }

  async #fetch(call: SenderCall): Promise<Response> {
    const { method, path, body } = call;
    const { base, token, timeoutMs, signal } = this.#options;
    const timeout = AbortSignal.timeout(timeoutMs);
    const form = body instanceof URLSearchParams;
    try {
      return await fetch(`${base}${path}`, {
        method,
        redirect: "manual",
        signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
        headers: {
          accept: "application/json",
          "user-agent": "reveille",
          ...(body === undefined || form ? {} : { "content-type": "application/json" }),
          ...this.#facts.headersOf(token),
        },
        ...(body === undefined ? {} : { body: form ? body : JSON.stringify(body) }),
      });
    } catch (error) {
      throw this.#unreached(call, error);
    }
  }

  async #read(call: SenderCall, response: Response): Promise<string> {
    const chunks: Uint8Array[] = [];
    let size = 0;
    try {
      for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
        chunks.push(chunk);
        size += chunk.length;
        if (size > this.#options.maxBytes) break;
      }
    } catch (error) {
      throw this.#unreached(call, error);
    }
    if (size <= this.#options.maxBytes) return Buffer.concat(chunks).toString("utf8");
    const limit = `answered with more than ${this.#options.maxBytes} bytes, which are not read`;
    throw this.#error(call, limit, "Check --api.", response.status);
  }

  #unreached(call: SenderCall, error: unknown): SenderApiError {
    const isLate = error instanceof Error && error.name === "TimeoutError";
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : "no connection";
    const what = isLate ? `did not answer within ${this.#options.timeoutMs} ms` : `could not be reached (${code})`;
    return this.#error(call, what, `Check the network and ${new URL(this.#options.base).origin}, then try again.`);
  }

  #error({ act }: SenderCall, what: string, advice: string, status?: number): SenderApiError {
    const message = `${this.#facts.title} was asked to ${act} and ${what}.${advice === "" ? "" : ` ${advice}`}`;
    return new SenderApiError(message, status);
  }

  /** The sender's own words, which never show what they were given. */
  #said(body: unknown): string {
    const { token, secrets } = this.#options;
    const values = [
      ...["message", "error.message", "error", "error_description", "description"].map((path) => valueAt(body, path)),
      ...listAt(body, "errors").map((each) => (typeof each === "string" ? each : valueAt(each, "message"))),
    ];
    const texts = values.flatMap((value) => {
      if (value === undefined || value === null || (typeof value === "object" && "message" in value)) return [];
      return [typeof value === "string" ? value : JSON.stringify(value)];
    });
    const hidden = [token, ...secrets].filter((each) => each !== "");
    const said = hidden.reduce((text, each) => text.replaceAll(each, "***"), [...new Set(texts)].join("; "));
    return oneLine(said, SAID_CHARS);
  }
}

const REDIRECT_ADVICE =
  "A redirect is not followed, so that the token goes nowhere else: check --api, and whether what is named has moved.";

function targetOf(headers: Headers): string {
  const target = URL.parse(headers.get("location") ?? "");
  return target === null ? "" : ` to ${oneLine(target.host, 100)}`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function adviceOf(status: number, headers: Headers, { title, tokenKind }: ApiFacts): string {
  const wait = headers.get("retry-after");
  if (status === 429 || (status === 403 && (wait !== null || headers.get("x-ratelimit-remaining") === "0"))) {
    const when = wait !== null && /^\d{1,6}$/u.test(wait) ? `in ${wait} seconds` : "later";
    return `It takes no more calls for now: try again ${when}.`;
  }
  if (status === 401) return `The token is not valid or has expired. It must be ${tokenKind}.`;
  if (status === 403) return `The token may not do that. It must be ${tokenKind}.`;
  if (status === 404) return `It is not there, or the token may not see it. The token must be ${tokenKind}.`;
  return status >= 500 ? `The fault is at ${title}: try again later.` : "";
}
