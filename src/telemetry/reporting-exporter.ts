import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace";
import type { Logger } from "../core/host.ts";
import { reasonLine } from "../core/reason-of.ts";

type ExportDone = Parameters<SpanExporter["export"]>[1];

/** `ExportResultCode.SUCCESS` of OpenTelemetry, whose package is no dependency. */
const SUCCESS = 0;

function isTaken({ code }: { readonly code: number }): boolean {
  return code === SUCCESS;
}

/** Logs that the collector takes no spans, once for as long as it lasts: the library itself says nothing. */
export class ReportingExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #logger: Logger;
  /** Spans that were lost since the collector last took some. */
  #lost = 0;

  constructor(exporter: SpanExporter, logger: Logger) {
    this.#exporter = exporter;
    this.#logger = logger;
  }

  export(spans: ReadableSpan[], done: ExportDone): void {
    this.#exporter.export(spans, (result) => {
      if (isTaken(result)) this.#took();
      else this.#lose(spans.length, result.error);
      done(result);
    });
  }

  async shutdown(): Promise<void> {
    await this.#exporter.shutdown();
  }

  #took(): void {
    if (this.#lost === 0) return;
    this.#logger.info({ lost: this.#lost }, "the collector takes spans again");
    this.#lost = 0;
  }

  #lose(spans: number, error: unknown): void {
    if (this.#lost === 0) {
      this.#logger.warn({ spans, reason: reasonLine(error) }, "the collector took no spans; they are lost");
    }
    this.#lost += spans;
  }
}
