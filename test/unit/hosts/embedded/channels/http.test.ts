import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { HTTP_CHANNEL_PRESETS } from "../../../../../src/hosts/embedded/channels/http-presets.ts";
import { type HttpChannelConfig, httpSender } from "../../../../../src/hosts/embedded/channels/http.ts";

const SECRET = "token-of-the-platform";
const asked: string[] = [];
let platform: Server;
let answer: { readonly status: number; readonly body: string };

beforeAll(async () => {
  platform = createServer((req, res) => {
    asked.push(req.url ?? "");
    res.writeHead(answer.status).end(answer.body);
  }).listen(0, "127.0.0.1");
  await once(platform, "listening");
});
beforeEach(() => {
  asked.length = 0;
  answer = { status: 200, body: "" };
});
afterAll(() => platform.close());

function send(to: string, overrides: Partial<HttpChannelConfig> = {}): Promise<unknown> {
  const { port } = platform.address() as AddressInfo;
  const sender = httpSender({
    kind: "http",
    url: `http://127.0.0.1:${port}/{{secret}}/topics/{{to}}/send`,
    method: "POST",
    query: {},
    headers: {},
    format: "plain",
    maxChars: 1_000,
    secret: SECRET,
    hidden: [SECRET],
    timeoutMs: 5_000,
    ...overrides,
  });
  const part = { channel: "own", to, text: "hello", id: "m1", idempotencyKey: "k" };
  return sender(part, undefined).then(
    () => "taken",
    (error: unknown) => error,
  );
}

it("a recipient stays one part of the path, whatever its characters", async () => {
  for (const to of ["a/b", "../../admin", "a?x=1#y", "%2e%2e", "a\r\nHost: x"]) expect(await send(to)).toBe("taken");
  expect(asked.map((url) => url.split("/").length)).toEqual([5, 5, 5, 5, 5]);
  expect(asked.every((url) => url.startsWith(`/${SECRET}/topics/`))).toBe(true);
  asked.length = 0;
  for (const to of [".", ".."]) {
    expect(await send(to)).toMatchObject({ name: "HostError", retryable: false });
  }
  expect(asked).toEqual([]);
});

it("what no header can hold is refused for good, and the error shows nothing of it", async () => {
  for (const to of ["a\r\nx-injected: 1", "\u{1F600}"]) {
    const refused = await send(to, { headers: { authorization: "Bearer {{secret}} {{to}}" } });
    expect(refused).toMatchObject({ name: "HostError", retryable: false });
    expect(JSON.stringify([String(refused), (refused as Error).cause ?? ""])).not.toContain(SECRET);
  }
  expect(asked).toEqual([]);
});

it("a message is sent again after a problem of the platform's own that has the status 200", async () => {
  const { ok, problem, passing } = HTTP_CHANNEL_PRESETS["slack"]!;
  for (const [error, retryable] of [
    ["internal_error", true],
    ["channel_not_found", false],
  ]) {
    answer = { status: 200, body: JSON.stringify({ ok: false, error }) };
    expect(await send("a", { ok, problem, passing })).toMatchObject({ name: "HostError", retryable });
  }
});

it("a message counts as taken when the platform repeats a long text in its answer, and when the answer is too long", async () => {
  for (const chars of [100_000, 2_000_000]) {
    answer = { status: 200, body: JSON.stringify({ message: { text: "x".repeat(chars) }, ok: true }) };
    expect(await send("a", { ok: "ok" })).toBe("taken");
  }
  answer = { status: 200, body: JSON.stringify({ message: { text: "x".repeat(100_000) }, ok: false }) };
  expect(await send("a", { ok: "ok" })).toMatchObject({ name: "HostError", retryable: false });
});

it("no part of a secret is in the reason, wherever the platform repeats it", async () => {
  for (let before = 300 - SECRET.length; before <= 300; before++) {
    const beginning = "-".repeat(before);
    answer = { status: 400, body: JSON.stringify({ error: `${beginning}${SECRET} is unknown` }) };
    const refused = (await send("a", { problem: "error" })) as Error;
    const reason = `${beginning}*** is unknown`.slice(0, 300);
    expect(refused.message).toBe(`The channel own did not take the message: it answered 400: ${reason}.`);
  }
});
