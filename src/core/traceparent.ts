/** The caller's place in its own trace: W3C Trace Context, version 00. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
}

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}$/u;

/** `undefined` for a header that is missing or malformed. */
export function readTraceparent(header: string | undefined): TraceContext | undefined {
  const [, traceId, spanId] = TRACEPARENT.exec(header ?? "") ?? [];
  return traceId === undefined || spanId === undefined ? undefined : { traceId, spanId };
}
