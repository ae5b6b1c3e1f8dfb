import { describe, expect, it } from "vitest";
import type { MappingConfig } from "../../../src/config/mapping/schema.ts";
import { GOOD_SECRET, read, refusalsOf } from "./hooks-context.ts";

function mappingOf(mapping: object, hooks: object = {}): MappingConfig {
  return read({ ...hooks, mappings: [{ messageTemplate: "m", ...mapping }] }).config.mappings[0]!;
}

describe("the keys of a mapping for its runs", () => {
  it("are read in the units of the configuration", () => {
    const written = {
      preset: "github",
      secret: GOOD_SECRET,
      events: [" push ", "pull_request.*"],
      when: "payload.a == 1",
      coalesce: { key: "{{id}}", windowSeconds: 0.5, maxWaitSeconds: 2, mode: "list" },
      order: "none",
      maxAgeSeconds: 60,
      priority: "low",
      concurrency: 2,
      fallback: { channel: " console ", to: " me " },
      budget: { perDay: 9 },
      respond: { status: 202, headers: { "Content-Type": " text/xml " }, body: "<ok/>" },
      mode: "deliver",
    };
    expect(mappingOf(written)).toMatchObject({
      events: ["push", "pull_request.*"],
      when: "payload.a == 1",
      coalesce: { key: "{{id}}", windowMs: 500, maxWaitMs: 2_000, mode: "list" },
      order: "none",
      maxAgeMs: 60_000,
      priority: "low",
      concurrency: 2,
      fallback: { channel: "console", to: "me" },
      budget: { perHour: undefined, perDay: 9 },
      respond: { kind: "content", status: 202, headers: { "content-type": "text/xml" }, body: "<ok/>" },
      mode: "deliver",
    });
    expect(mappingOf({ overlap: "skip", respond: "result", waitSeconds: 1.5 })).toMatchObject({
      overlap: "skip",
      respond: { kind: "result" },
      waitMs: 1_500,
    });
  });

  it("let a run that coalesces calls wait for ten windows, and for seven days at most", () => {
    const { coalesce } = mappingOf({ coalesce: { windowSeconds: 3 } });
    expect(coalesce).toEqual({ key: "", windowMs: 3_000, maxWaitMs: 30_000, mode: "latest" });
    expect(mappingOf({ coalesce: { windowSeconds: 86_400 } }).coalesce?.maxWaitMs).toBe(604_800_000);
  });

  it("answer with 200 and the ordinary content where respond is empty", () => {
    expect(mappingOf({ respond: {} }).respond).toEqual({ kind: "content", status: 200, headers: {}, body: undefined });
  });

  it("lay retry over that of the hooks, key by key", () => {
    const retry = { attempts: 5, backoffSeconds: 60, delivery: { attempts: 2 } };
    const own = { backoffSeconds: 1, delivery: { backoffSeconds: 3 } };
    expect(mappingOf({ retry: own }, { retry }).retry).toEqual({
      runs: { attempts: 5, firstDelayMs: 1_000, maxDelayMs: 900_000 },
      deliveries: { attempts: 2, firstDelayMs: 3_000, maxDelayMs: 60_000 },
    });
  });

  it("take a mapping's retry as that of the hooks where it has none", () => {
    const { config } = read({ retry: { attempts: 9 }, presets: ["gmail"], mappings: [{ messageTemplate: "m" }] });
    expect(config.mappings.map(({ retry }) => retry)).toEqual([config.retry, config.retry]);
    expect(config.retry.runs.attempts).toBe(9);
  });

  it("raise the longest delay with a first one that is longer", () => {
    expect(mappingOf({ retry: { backoffSeconds: 1_200 } }).retry.runs).toEqual({
      attempts: 3,
      firstDelayMs: 1_200_000,
      maxDelayMs: 1_200_000,
    });
  });
});

describe("the headers of an answer", () => {
  const refuse = (headers: object): string[] =>
    refusalsOf({ mappings: [{ messageTemplate: "m", respond: { headers } }] });
  const line = (name: string, problem: string): string =>
    `hooks.mappings[0].respond.headers[${JSON.stringify(name)}]: ${problem}`;

  it.each(["Content-Length", "transfer-encoding", "Connection", "set-cookie", "Date", "WWW-Authenticate"])(
    "cannot be %s",
    (name) => {
      expect(refuse({ [name]: "1" })).toEqual([line(name, "cannot be set: it has a meaning of its own")]);
    },
  );

  it.each(["a b", "x:y", "", "naïve", "x\r\ny"])("cannot have the name %j", (name) => {
    expect(refuse({ [name]: "1" })).toEqual([line(name, "is not the name of a header")]);
  });

  it.each(["a\nb", "a\r\nSet-Cookie: b", "\0", "grüße"])("cannot have the value %j", (value) => {
    expect(refuse({ "x-a": value })).toEqual([line("x-a", "must be one line of visible ASCII characters")]);
  });

  it("are there once, whatever the case of their names", () => {
    expect(refuse({ "X-A": "1", "x-a": "2" })).toEqual([line("x-a", "is there twice")]);
    expect(refuse({ "X-A": "1", "x-b": "a\tb" })).toEqual([]);
  });
});
