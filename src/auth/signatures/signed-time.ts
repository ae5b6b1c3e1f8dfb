import type { TimestampRule } from "../../config/auth/schema.ts";
import { compileRequestSource } from "./request-source.ts";
import type { SignedInput } from "./request-source.ts";

const DIGITS = /^[0-9]{1,16}$/;
const ISO_8601 =
  /^([0-9]{4}-[0-9]{2}-[0-9]{2})T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$/;

/** Milliseconds since the epoch that a text in exactly this unit says, or `undefined`. */
export function readTimestamp(text: string, unit: TimestampRule["unit"]): number | undefined {
  if (unit !== "iso8601") {
    if (!DIGITS.test(text)) return undefined;
    return unit === "seconds" ? Number(text) * 1_000 : Number(text);
  }
  const date = ISO_8601.exec(text)?.[1];
  if (date === undefined) return undefined;
  const midnight = Date.parse(`${date}T00:00:00Z`);
  // The engine reads February 31 as March 3.
  if (Number.isNaN(midnight) || new Date(midnight).toISOString().slice(0, 10) !== date) return undefined;
  return Date.parse(text);
}

/** Writes a time in a unit, as senders do. */
export function writeTimestamp(milliseconds: number, unit: TimestampRule["unit"]): string {
  if (unit === "iso8601") return new Date(milliseconds).toISOString();
  return String(unit === "seconds" ? Math.floor(milliseconds / 1_000) : milliseconds);
}

/**
 * Why a time is not near enough to that of the request, or `undefined`; both bounds are inclusive.
 * Whole seconds are compared with whole seconds, as senders' own libraries do.
 */
export function refuseTimestamp(time: number, receivedAt: number, rule: TimestampRule): string | undefined {
  const now = rule.unit === "seconds" ? Math.floor(receivedAt / 1_000) * 1_000 : receivedAt;
  const age = now - time;
  if (age > rule.toleranceSeconds * 1_000) return `timestamp is ${Math.ceil(age / 1_000)} seconds old`;
  if (-age > rule.futureSeconds * 1_000) return `timestamp is ${Math.ceil(-age / 1_000)} seconds in the future`;
  return undefined;
}

/** Compiles how the time of a request is read and checked: milliseconds since the epoch, or the reason of a refusal. */
export function compileTimestamp(rule: TimestampRule): (input: SignedInput) => number | string {
  const read = compileRequestSource(rule.from);
  return (input) => {
    const text = read(input);
    if (text === undefined) return "timestamp is missing";
    const time = readTimestamp(text, rule.unit);
    if (time === undefined) return "malformed timestamp";
    return refuseTimestamp(time, input.call.receivedAt, rule) ?? time;
  };
}
