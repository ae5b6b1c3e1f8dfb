import type { CallPayload, FuzzRequest } from "./fuzz-request.ts";
import { HARMLESS_HEADERS, HOSTILE_HEADER_VALUES, HOSTILE_JSON, HOSTILE_TARGETS, METHODS } from "./hostile-values.ts";
import type { Prng } from "./prng.ts";

type Mutation = (prng: Prng, request: FuzzRequest, payload: CallPayload) => void;

/**
 * Changes what a request says and leaves where it ends, so that it is answered exactly once and the
 * next one on its connection, too. It touches no header that shows the token.
 */
export function mutateFramed(prng: Prng, request: FuzzRequest, payload: CallPayload): void {
  for (let count = prng.below(3); count >= 0; count--) prng.pick(MUTATIONS)(prng, request, payload);
}

const MUTATIONS: readonly Mutation[] = [
  replaceValue,
  replaceValue,
  replaceValue,
  repeatKey,
  damageBody,
  damageBody,
  cutBody,
  invalidUtf8,
  byteOrderMark,
  blankBody,
  largeBody,
  deepBody,
  hostileHeader,
  hostileHeader,
  manyHeaders,
  hostileTarget,
  damageTarget,
  otherMethod,
  otherChunks,
];

/** One value of the payload becomes something hostile. */
function replaceValue(prng: Prng, request: FuzzRequest, payload: CallPayload): void {
  if (typeof payload === "string") return damageBody(prng, request);
  const keys = Object.keys(payload);
  const chosen = prng.pick([...keys, "source", "__proto__", "extra"]);
  const parts = Object.entries({ ...payload, ...(keys.includes(chosen) ? {} : { extra: 0 }) }).map(([key, value]) => {
    const isChosen = key === chosen || (key === "extra" && !keys.includes(chosen));
    return `${JSON.stringify(isChosen ? chosen : key)}:${isChosen ? prng.pick(HOSTILE_JSON) : JSON.stringify(value)}`;
  });
  request.body = Buffer.from(`{${parts.join(",")}}`);
}

function repeatKey(prng: Prng, request: FuzzRequest): void {
  const text = request.body?.toString() ?? "";
  if (!text.endsWith("}")) return;
  const key = prng.pick(["text", "message", "mode", "source", "items", "deliver"]);
  request.body = Buffer.from(`${text.slice(0, -1)},"${key}":${prng.pick(HOSTILE_JSON)},"${key}":"last"}`);
}

function damageBody(prng: Prng, request: FuzzRequest): void {
  if (!request.body?.length) return;
  const damaged = Buffer.from(request.body);
  for (let count = prng.below(4); count >= 0; count--) damaged[prng.below(damaged.length)] = prng.below(256);
  request.body = damaged;
}

function cutBody(prng: Prng, request: FuzzRequest): void {
  if (request.body) request.body = request.body.subarray(0, prng.below(request.body.length + 1));
}

function invalidUtf8(prng: Prng, request: FuzzRequest): void {
  const bytes = prng.pick([[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82], [0]]);
  const at = prng.below((request.body?.length ?? 0) + 1);
  const body = request.body ?? Buffer.alloc(0);
  request.body = Buffer.concat([body.subarray(0, at), Buffer.from(bytes), body.subarray(at)]);
}

function byteOrderMark(_prng: Prng, request: FuzzRequest): void {
  request.body = Buffer.concat([Buffer.from("\u{feff}"), request.body ?? Buffer.alloc(0)]);
}

function blankBody(prng: Prng, request: FuzzRequest): void {
  request.body = Buffer.from(prng.pick(["", " ", "\r\n\t", "null", "0", '"x"', "[]", "[1,2]", "{}", "[[[[[["]));
}

/** Around the limit of 8 KiB. */
function largeBody(prng: Prng, request: FuzzRequest): void {
  const room = prng.pick([8_000, 8_191, 8_192, 8_193, 9_000, 20_000]) - 11;
  request.body = Buffer.from(`{"text":"${"x".repeat(room)}"}`);
}

function deepBody(prng: Prng, request: FuzzRequest): void {
  const depth = prng.pick([63, 64, 65, 500, 4_000]);
  const [open, close] = prng.pick([
    ["[", "]"],
    ['{"a":', "}"],
  ] as const);
  request.body = Buffer.from(open.repeat(depth) + (prng.chance(0.5) ? `1${close.repeat(depth)}` : ""));
}

function hostileHeader(prng: Prng, request: FuzzRequest): void {
  const name = prng.pick(HARMLESS_HEADERS);
  const value = prng.chance(0.8) ? prng.pick(HOSTILE_HEADER_VALUES) : printable(prng, prng.below(60));
  if (prng.chance(0.5)) request.headers = request.headers.filter(([other]) => other !== name);
  request.headers.push([name, value]);
}

function manyHeaders(prng: Prng, request: FuzzRequest): void {
  for (let count = prng.below(120); count >= 0; count--) request.headers.push([`x-${count}`, printable(prng, 8)]);
}

function hostileTarget(prng: Prng, request: FuzzRequest): void {
  request.target = prng.pick(HOSTILE_TARGETS);
}

/** Visible characters only, and the first stays a slash: an authority that is none would end the connection. */
function damageTarget(prng: Prng, request: FuzzRequest): void {
  if (!request.target.startsWith("/")) return;
  const at = 1 + prng.below(request.target.length);
  request.target =
    request.target.slice(0, at) + printable(prng, 1 + prng.below(3)) + request.target.slice(at + prng.below(2));
}

function otherMethod(prng: Prng, request: FuzzRequest): void {
  request.method = prng.pick(METHODS);
}

function otherChunks(prng: Prng, request: FuzzRequest): void {
  request.chunks = request.chunks ? undefined : [1 + prng.below(3), 1 + prng.below(4_000)];
}

function printable(prng: Prng, length: number): string {
  return Array.from({ length }, () => String.fromCharCode(0x21 + prng.below(0x5e))).join("");
}
