import { parse } from "content-type";
import { type CompiledPath, compilePath } from "../../core/payload-path.ts";
import { queryOf, requestViewOf } from "../request-view.ts";
import { splitSource } from "../value-source.ts";
import type { IncomingRequest, RequestView } from "../verifier.ts";
import { readMediaType } from "../../http/media-type.ts";
import { isForm } from "./content-texts.ts";

type Container = Record<string | number, unknown>;

/** A request that is being signed: values are put where sources say. */
export class RequestBuilder {
  readonly headers: Record<string, string> = {};
  /** `key=value` that the signature header will have. */
  readonly pairs = new Map<string, string>();
  body: Uint8Array;
  readonly #method: string;
  readonly #now: number;
  /** The part of the URL before the path. */
  readonly origin: string;
  #target: string;
  #pathSecret: string | undefined;

  constructor(request: {
    readonly method: string;
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: Uint8Array;
    readonly now: number;
  }) {
    for (const [name, value] of Object.entries(request.headers)) this.headers[name.toLowerCase()] = value;
    this.body = request.body;
    this.#method = request.method;
    this.#now = request.now;
    this.origin = /^[a-z]+:\/\/[^/?#]*/i.exec(request.url)?.[0] ?? "";
    this.#target = request.url.slice(this.origin.length);
  }

  /** The request as the gateway would receive it. */
  get call(): IncomingRequest {
    const { headers, body } = this;
    const receivedAt = this.#now;
    return { method: this.#method, target: this.#target, headers, body, receivedAt, pathSecret: this.#pathSecret };
  }

  get view(): RequestView {
    return requestViewOf(this.call);
  }

  get signed(): SignedRequest {
    return { url: this.origin + this.#target, headers: this.headers, body: this.body };
  }

  /** Puts a value where a source says. Throws a TypeError when the body has no such place. */
  put(source: string, value: string): void {
    const { kind, name } = splitSource(source);
    // Node writes one byte per character of a header.
    if (kind === "header") this.headers[name.toLowerCase()] = Buffer.from(value, "utf8").toString("latin1");
    if (kind === "pair") this.pairs.set(name, value);
    if (kind === "query") this.#putQuery(name, value);
    if (kind === "body") this.#putBody(name, value);
    if (kind === "path") this.#putPath(value);
  }

  #putQuery(name: string, value: string): void {
    const [path, query] = splitOnce(this.#target, "?");
    const isThere = Object.hasOwn(queryOf(this.#target), name);
    const kept = (query ?? "").split("&").filter((pair) => pair !== "" && !(isThere && nameOf(pair) === name));
    this.#target = `${path}?${[...kept, `${encodeURIComponent(name)}=${encodeURIComponent(value)}`].join("&")}`;
  }

  #putPath(value: string): void {
    const [path, query] = splitOnce(this.#target, "?");
    this.#pathSecret = value;
    this.#target = `${path.replace(/\/$/, "")}/${encodeURIComponent(value)}${query === undefined ? "" : `?${query}`}`;
  }

  #putBody(name: string, value: string): void {
    if (isForm(this.call)) {
      const form = new URLSearchParams(Buffer.from(this.body).toString("utf8"));
      form.set(name, value);
      this.body = Buffer.from(form.toString());
      return;
    }
    if (readMediaType(this.headers["content-type"]).kind === "multipart") {
      this.body = withPart(this.body, this.headers["content-type"]!, { name, value });
      return;
    }
    const payload = parseObject(this.body);
    setAll(
      [payload],
      name.split("[]").map((step) => compilePath(step)),
      value,
    );
    this.body = Buffer.from(JSON.stringify(payload));
  }
}

/** The same form with one more part, before its end. */
function withPart(body: Uint8Array, contentType: string, field: { name: string; value: string }): Uint8Array {
  const boundary = parse(contentType).parameters["boundary"] ?? "";
  const bytes = Buffer.from(body);
  const end = Math.max(bytes.lastIndexOf(`--${boundary}--`), 0);
  const part = `--${boundary}\r\nContent-Disposition: form-data; name="${field.name}"\r\n\r\n${field.value}\r\n`;
  return Buffer.concat([bytes.subarray(0, end), Buffer.from(part), bytes.subarray(end)]);
}

function parseObject(body: Uint8Array): Container {
  let payload: unknown;
  try {
    payload = body.length === 0 ? {} : JSON.parse(Buffer.from(body).toString("utf8"));
  } catch {
    payload = undefined;
  }
  if (typeof payload !== "object" || payload === null) {
    throw new TypeError("The scheme puts a value into the body, which has to be a JSON object or a form for that.");
  }
  return payload as Container;
}

/** Sets a path in each container; what stands between two paths is every item of an array. */
function setAll(containers: readonly Container[], paths: readonly CompiledPath[], value: string): void {
  const [path, ...rest] = paths;
  for (const container of containers) {
    if (rest.length === 0) {
      set(container, path!, value);
      continue;
    }
    const items = path!.length === 0 ? container : valueAt(container, path!);
    setAll(Array.isArray(items) ? items.filter(isContainer) : [], rest, value);
  }
}

function set(container: Container, path: CompiledPath, value: string): void {
  const key = path.at(-1);
  if (key === undefined) return;
  let current = container;
  for (const segment of path.slice(0, -1)) {
    const next = Object.hasOwn(current, segment) ? current[segment] : undefined;
    if (isContainer(next)) current = next;
    else current = current[segment] = {};
  }
  // A number stays a number: some senders write their time so.
  const isNumber = typeof current[key] === "number" && String(Number(value)) === value;
  current[key] = isNumber ? Number(value) : value;
}

function valueAt(container: Container, path: CompiledPath): unknown {
  let current: unknown = container;
  for (const segment of path) {
    if (!isContainer(current) || !Object.hasOwn(current, segment)) return undefined;
    current = current[segment];
  }
  return current;
}

function isContainer(value: unknown): value is Container {
  return typeof value === "object" && value !== null;
}

function nameOf(pair: string): string | undefined {
  return Object.keys(queryOf(`?${pair}`))[0];
}

function splitOnce(text: string, separator: string): [string, string | undefined] {
  const at = text.indexOf(separator);
  return at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

/** The same request with everything that its scheme adds. */
export interface SignedRequest {
  readonly url: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}
