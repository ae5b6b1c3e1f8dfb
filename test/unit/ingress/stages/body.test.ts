import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isRefusal } from "../../../../src/core/errors.ts";
import { body } from "../../../../src/ingress/stages/body.ts";
import type { ReceivedBody } from "../../../../src/ingress/stages/body.ts";
import { RequestFacts } from "../../../../src/ingress/request-log.ts";
import { edge } from "../../../../src/ingress/stages/edge.ts";
import { mappingOf } from "../../mapping/mappings.ts";
import { withRequest } from "../../http/wire.ts";
import { RECEIVED_AT, StageBench } from "./stage-bench.ts";

describe("body", () => {
  let bench: StageBench;

  beforeEach(async () => {
    bench = await StageBench.open();
  });
  afterEach(() => bench[Symbol.asyncDispose]());

  async function read(path: string, content: string, block: object = {}) {
    const active = await bench.active(block);
    return withRequest(
      async (req) => {
        const request = edge(bench.ingress, active, req, new RequestFacts());
        if (isRefusal(request)) return { outcome: request, started: false };
        const outcome = await body(bench.ingress, active, request);
        return { outcome, started: req.readableDidRead };
      },
      (socket) =>
        socket.write(
          `POST /hooks/${path} HTTP/1.1\r\nHost: localhost\r\nX-Event: push\r\nAuthorization: Bearer x\r\nContent-Length: ${content.length}\r\n\r\n${content}`,
        ),
    );
  }

  const MAPPINGS = {
    maxBodyBytes: 10,
    mappings: [{ match: { path: "in" }, messageTemplate: "m", maxBodyBytes: 20, accept: ["text"] }],
  };

  it("gives the exact bytes with the head of the request, without its credential", async () => {
    const { outcome } = await read("wake?a=1", '{"text":1}');
    const { raw: request, rules } = outcome as ReceivedBody;
    expect(Buffer.from(request.body).toString()).toBe('{"text":1}');
    expect(request).toMatchObject({
      method: "POST",
      path: "wake",
      query: { a: "1" },
      clientAddress: "127.0.0.1",
      receivedAt: RECEIVED_AT,
    });
    expect(request.headers["x-event"]).toBe("push");
    expect(request.headers).not.toHaveProperty("authorization");
    expect(rules).toEqual({ maxBodyBytes: 262_144, accept: [] });
  });

  it.each([
    ["wake", 10],
    ["agent", 10],
    ["in", 20],
    ["in/", 20],
  ])("spec 8: takes on /%s a body of %d bytes and not one more", async (path, limit) => {
    expect((await read(path, "x".repeat(limit), MAPPINGS)).outcome).toHaveProperty("raw");
    expect((await read(path, "x".repeat(limit + 1), MAPPINGS)).outcome).toMatchObject({ refused: "BODY_TOO_LARGE" });
  });

  it("says what the path takes besides JSON", async () => {
    expect((await read("in", "x", MAPPINGS)).outcome).toMatchObject({ rules: { accept: ["text"] } });
  });

  it.each(["", "none", "none/in", "Wake"])("reads nothing on /hooks/%s, where no hook is", async (path) => {
    expect(await read(path, "x", MAPPINGS)).toMatchObject({ outcome: { refused: "NOT_FOUND" }, started: false });
  });

  it("reads on every path once a plugin resolves paths of its own, within the common limit", async () => {
    bench.hooks.resolve.tap("plugin", () => mappingOf({ messageTemplate: "m" }));
    const { outcome } = await read("none", "x", MAPPINGS);
    expect(outcome).toMatchObject({ rules: { maxBodyBytes: 10, accept: ["json", "form", "multipart", "text"] } });
    expect((await read("none", "x".repeat(11), MAPPINGS)).outcome).toMatchObject({ refused: "BODY_TOO_LARGE" });
    expect((await read("", "x", MAPPINGS)).outcome).toMatchObject({ refused: "NOT_FOUND" });
  });
});

describe("the body of a sender who is not verified yet", () => {
  const GITHUB = {
    maxBodyBytes: 1_000,
    presets: ["github"],
    github: { secret: "secret-of-the-body-tests", maxBodyBytes: 5_000 },
  };

  async function heldBy(bench: StageBench, contentLength: number | "chunked") {
    const active = await bench.active(GITHUB);
    const length = contentLength === "chunked" ? "Transfer-Encoding: chunked" : `Content-Length: ${contentLength}`;
    const content = contentLength === "chunked" ? "1\r\nx\r\n0\r\n\r\n" : "x".repeat(contentLength);
    return withRequest(
      async (req) => {
        const request = edge(bench.ingress, active, req, new RequestFacts());
        if (isRefusal(request)) return request.refused;
        const outcome = await body(bench.ingress, active, request);
        return isRefusal(outcome) ? outcome.refused : request.heldBytes;
      },
      (socket) => socket.write(`POST /hooks/github HTTP/1.1\r\nHost: localhost\r\n${length}\r\n\r\n${content}`),
    );
  }

  it("counts against the budget once it is larger than ordinary ones, by what it may come to", async () => {
    await using bench = await StageBench.open();
    expect(await heldBy(bench, 1_000)).toBe(0);
    expect(await heldBy(bench, 1_001)).toBe(1_001);
    expect(await heldBy(bench, "chunked")).toBe(5_000);
    expect(bench.ingress.unverifiedBytes.reserved).toBe(6_001);
  });

  it("is refused when the budget is used up, and an ordinary one is not", async () => {
    await using bench = await StageBench.open();
    bench.byteLimit = 3_000;
    expect(await heldBy(bench, 2_000)).toBe(2_000);
    expect(await heldBy(bench, 1_500)).toBe("BUSY");
    expect(await heldBy(bench, 900)).toBe(0);
    bench.ingress.unverifiedBytes.release(2_000);
    expect(await heldBy(bench, 1_500)).toBe(1_500);
  });
});
