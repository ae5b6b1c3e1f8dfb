import bytes from "bytes";
import ms from "ms";
import type { StringValue } from "ms";
import type { Findings } from "./findings.ts";
import { BODY_BYTES, TTL_SECONDS } from "./schema-parts.ts";
import type { Bounds } from "./schema-parts.ts";

/** Bytes of a limit that the schema passed, by default of a body: a number, or a string such as `256kb`. */
export function readBodyBytes(
  value: number | string,
  path: string,
  findings: Findings,
  bounds: Bounds = BODY_BYTES,
): number {
  // The library takes "12zz" for 12; the schema has let nothing of the kind through.
  const size = typeof value === "number" ? value : (bytes.parse(value) ?? NaN);
  return within(size, bounds, "bytes", path, findings);
}

/** Milliseconds of a lifetime that the schema passed: seconds, or a string such as `24h`. */
export function readTtlMs(
  value: number | string,
  path: string,
  findings: Findings,
  bounds: Bounds = TTL_SECONDS,
): number {
  // A bare number in a string would be milliseconds to the library; the schema demands a unit there.
  const seconds = typeof value === "number" ? value : ms(value as StringValue) / 1_000;
  return Math.round(within(seconds, bounds, "seconds", path, findings) * 1_000);
}

/** Whole milliseconds of a number of seconds. */
export function milliseconds(seconds: number): number {
  return Math.round(seconds * 1_000);
}

/** The schema bounds numbers; what a string comes to is known only here. */
function within(value: number, bounds: Bounds, unit: string, path: string, findings: Findings): number {
  const { minimum, maximum } = bounds;
  if (!(value >= minimum && value <= maximum)) {
    findings.refuse(path, `must be between ${minimum} and ${maximum} ${unit}`);
  }
  return value;
}
