import type { Prng } from "./prng.ts";

/** A request in the parts that mutations work on; {@link render} puts it on the wire. */
export interface FuzzRequest {
  method: string;
  target: string;
  version: string;
  /** Names and values, without those that frame the body. */
  headers: [string, string][];
  body: Buffer | undefined;
  /** Sizes of the chunks in which the body is sent; a declared length when absent. */
  chunks: readonly number[] | undefined;
}

/** What a request shows of the token. */
export type CredentialKind =
  /** In a carrier that counts: it may be let in. */
  | "right"
  /** Nowhere: it must not be let in. */
  | "absent"
  /** Somewhere, and in no carrier that counts: it must not be let in. */
  | "misplaced";

const CRLF = "\r\n";

/** The bytes of a request whose framing is right. */
export function render(request: FuzzRequest): Buffer {
  const { method, target, version, headers, body, chunks } = request;
  const framing: [string, string][] =
    body === undefined ? [] : chunks ? [["Transfer-Encoding", "chunked"]] : [["Content-Length", String(body.length)]];
  const lines = [...headers, ...framing].map(([name, value]) => `${name}: ${value}`);
  const head = Buffer.from([`${method} ${target} ${version}`, ...lines, "", ""].join(CRLF), "latin1");
  if (body === undefined) return head;
  return Buffer.concat([head, ...(chunks ? inChunks(body, chunks) : [body])]);
}

function inChunks(body: Buffer, sizes: readonly number[]): Buffer[] {
  const parts: Buffer[] = [];
  let start = 0;
  for (let at = 0; start < body.length; at++) {
    const chunk = body.subarray(start, start + (sizes[at % sizes.length] || body.length));
    parts.push(Buffer.from(`${chunk.length.toString(16)}${CRLF}`), chunk, Buffer.from(CRLF));
    start += chunk.length;
  }
  return [...parts, Buffer.from(`0${CRLF}${CRLF}`)];
}

/** One valid call of each kind of route. */
const CALLS: readonly { readonly path: string; readonly type: string; readonly payload: object | string }[] = [
  { path: "wake", type: "application/json", payload: { text: "Build 7 failed.", mode: "next-heartbeat" } },
  { path: "wake", type: "text/plain", payload: { text: "Now.", mode: "now" } },
  {
    path: "agent",
    type: "application/json",
    payload: {
      message: "Look at it.",
      name: "CI",
      agentId: "main",
      sessionKey: "hook:ci",
      wakeMode: "next-heartbeat",
      deliver: false,
      channel: "last",
      to: "me",
      thinking: "low",
      timeoutSeconds: 30,
      idempotencyKey: "k",
    },
  },
  {
    path: "mapped",
    type: "application/json",
    payload: { source: "ci", title: "t", items: [{ id: 1 }], deep: { a: { b: [1, "x"] } } },
  },
  { path: "generic", type: "application/json", payload: { source: "billing", amount: 12.5 } },
  { path: "many", type: "application/json", payload: { items: ["a", { b: 1 }, 3] } },
  { path: "code/with/path", type: "application/json", payload: { text: "x", nested: [{}] } },
  { path: "form", type: "application/x-www-form-urlencoded", payload: "source=form&title=a+b&x=%C3%BC&x=2" },
  { path: "text", type: "text/plain; charset=utf-8", payload: "disk 91 % full" },
  {
    path: "gmail",
    type: "application/json",
    payload: { messages: [{ id: "m1", from: "a@example.test", subject: "s", snippet: "s", body: "b" }] },
  },
];

export type CallPayload = (typeof CALLS)[number]["payload"];

/** A call by chance, valid but for its credential, and the payload that its body is made of. */
export function seedRequest(
  prng: Prng,
  kind: CredentialKind,
  token: string,
): { request: FuzzRequest; payload: CallPayload } {
  const { path, type, payload } = prng.pick(CALLS);
  const headers: [string, string][] = [["Host", "gateway.test"], ...credentialHeaders(prng, kind, token)];
  headers.push(["Content-Type", type]);
  // The gateway trusts this proxy: failures count for many clients, some of which are locked out in time.
  headers.push(["X-Forwarded-For", `${kind === "right" ? "198.51" : "203.0"}.${prng.below(8)}.${prng.below(100)}`]);
  if (prng.chance(0.1)) headers.push(["Idempotency-Key", `key-${prng.below(50)}`]);
  return {
    request: {
      method: "POST",
      target: `/hooks/${path}`,
      version: "HTTP/1.1",
      headers,
      body: Buffer.from(typeof payload === "string" ? payload : JSON.stringify(payload)),
      chunks: prng.chance(0.06) ? [1 + prng.below(20), prng.below(200)] : undefined,
    },
    payload,
  };
}

/** Header lines by which a request shows the token, or fails to. */
function credentialHeaders(prng: Prng, kind: CredentialKind, token: string): [string, string][] {
  if (kind === "right") return [prng.pick(rightCarriers(token))];
  if (kind === "misplaced") return [prng.pick(wrongCarriers(token))];
  const wrong = prng.pick(NEAR_MISSES)(token);
  return prng.pick<[string, string][]>([
    [],
    [["Authorization", `Bearer ${wrong}`]],
    [["x-service-token", wrong]],
    [
      ["Authorization", `Basic ${wrong}`],
      ["x-service-token", wrong],
    ],
    [["Authorization", "Bearer"]],
    [["Authorization", ""]],
  ]);
}

function rightCarriers(token: string): [string, string][] {
  return [
    ["Authorization", `Bearer ${token}`],
    ["authorization", `bEARER   ${token}`],
    ["x-service-token", token],
    ["X-SERVICE-TOKEN", ` ${token} `],
  ];
}

function wrongCarriers(token: string): [string, string][] {
  return [
    ["Authorization", `Basic ${token}`],
    ["Authorization", `Bearer "${token}"`],
    ["Authorization", `Bearer ${token}, Bearer ${token}`],
    ["Authorization", `Bearer x${token}`],
    ["Authorization", token],
    ["Proxy-Authorization", `Bearer ${token}`],
    ["x-service-tokens", token],
    ["x_service_token", token],
    ["x-service-token", `Bearer ${token}`],
    ["Cookie", `x-service-token=${token}; Authorization=Bearer ${token}`],
    ["Referer", `http://gateway.test/?token=${token}`],
  ];
}

/** Values that look like the token and do not hold it. */
const NEAR_MISSES: readonly ((token: string) => string)[] = [
  (token) => token.slice(0, -1),
  (token) => token.slice(1),
  (token) => token.toUpperCase(),
  (token) => token.replace("-", "_"),
  (token) => token.split("").toReversed().join(""),
  (token) => `${token.slice(0, 8)} ${token.slice(8)}`,
  () => "",
  () => "wrong",
  () => "x".repeat(1_500),
  () => "\u00e4\u00ff",
];
