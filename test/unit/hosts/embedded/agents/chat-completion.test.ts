import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { streamCompletion } from "../../../../../src/hosts/embedded/agents/chat-completion.ts";
import { answers, beginsStream, chunk, type ModelBehavior, ModelServer, streams } from "./model-server.ts";

/** Asks once; resolves with the text, or rejects. */
async function ask(server: ModelServer): Promise<string> {
  let text = "";
  await streamCompletion({
    provider: { baseUrl: server.baseUrl, apiKey: undefined, headers: {} },
    body: { model: "m", messages: [] },
    maxResponseBytes: 1_000_000,
    signal: new AbortController().signal,
    onText: (piece) => (text += piece),
  });
  return text;
}

describe("a connection that is used again", () => {
  it("and breaks in the middle of the answer asks no second time", async () => {
    const breaks: ModelBehavior = (res, request) => {
      beginsStream("half")(res, request);
      setTimeout(() => res.socket?.resetAndDestroy(), 50);
    };
    await using server = await ModelServer.start([streams("whole"), breaks]);
    expect(await ask(server)).toBe("whole");
    // The connection goes back to its pool.
    await sleep(50);
    await expect(ask(server)).rejects.toMatchObject({ code: "ECONNRESET" });
    await sleep(200);
    expect(server.requests).toHaveLength(2);
  });
});

const STREAM = { "content-type": "text/event-stream" };

describe("a reply that is complete", () => {
  const whole = `${chunk("whole", "stop")}data: [DONE]\n\n`;

  it.each([
    ["stays open", () => {}],
    ["breaks", (res: ServerResponse) => void setTimeout(() => res.socket?.resetAndDestroy(), 50)],
  ])("is taken when its connection %s", async (_how, then) => {
    const behavior: ModelBehavior = (res) => {
      res.writeHead(200, STREAM).write(whole);
      then(res);
    };
    await using server = await ModelServer.start([behavior]);
    expect(await ask(server)).toBe("whole");
    await expect.poll(() => server.abandoned).toBe(1);
  });

  it("may be a refusal, which is a field of its own", async () => {
    const event = (delta: object, end: string | null) =>
      `data: ${JSON.stringify({ choices: [{ delta, finish_reason: end }] })}\n\n`;
    const events = event({ content: null, refusal: "I cannot " }, null) + event({ refusal: "do that." }, "stop");
    await using server = await ModelServer.start([answers(200, events, STREAM)]);
    expect(await ask(server)).toBe("I cannot do that.");
  });

  it("is taken from an endpoint that writes an error of null into each event", async () => {
    const events = whole.replace('{"id"', '{"error":null,"id"');
    await using server = await ModelServer.start([answers(200, events, STREAM)]);
    expect(await ask(server)).toBe("whole");
  });
});
