import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace";
import { beforeEach, describe, expect, it } from "vitest";
import { ReportingExporter } from "../../../src/telemetry/reporting-exporter.ts";
import { recordingLogger } from "../hosts/embedded/server/recording-logger.ts";

type Result = Parameters<Parameters<SpanExporter["export"]>[1]>[0];

const TAKEN = { code: 0 } as unknown as Result;
const REFUSED = { code: 1, error: new Error("Unauthorized") } as unknown as Result;
const SPAN = {} as ReadableSpan;

describe("the exporter of spans", () => {
  let logger: ReturnType<typeof recordingLogger>;
  let next: Result;
  let exporter: ReportingExporter;

  beforeEach(() => {
    logger = recordingLogger();
    const collector = { export: (_spans: unknown, done: (result: Result) => void) => done(next), async shutdown() {} };
    exporter = new ReportingExporter(collector, logger);
  });

  function send(result: Result, count = 1): Result {
    next = result;
    let given = TAKEN;
    exporter.export(
      Array.from({ length: count }, () => SPAN),
      (each) => (given = each),
    );
    return given;
  }

  it("logs that the collector takes no spans, once, and that it takes them again", () => {
    expect([send(REFUSED, 2), send(REFUSED, 3), send(TAKEN), send(TAKEN)]).toEqual([REFUSED, REFUSED, TAKEN, TAKEN]);
    expect(logger.lines).toEqual([
      {
        level: "warn",
        fields: { spans: 2, reason: "Unauthorized" },
        message: "the collector took no spans; they are lost",
      },
      { level: "info", fields: { lost: 5 }, message: "the collector takes spans again" },
    ]);
    send(REFUSED);
    expect(logger.lines).toHaveLength(3);
  });

  it("logs nothing while the collector takes spans", () => {
    send(TAKEN);
    expect(logger.lines).toEqual([]);
  });
});
