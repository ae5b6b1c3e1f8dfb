/** `hooks.waits`: sessions that wait for events. */
import Type, { type Static } from "typebox";
import { whole, withDefault } from "./schema-parts.ts";

export const WaitsSchema = Type.Object(
  {
    max: withDefault(whole({ minimum: 0, maximum: 10_000 }, "Waits that are open at the same time. 0: none."), 1_000),
    maxPerSession: withDefault(whole({ minimum: 1, maximum: 100 }, "Waits of one session."), 20),
    maxDays: withDefault(whole({ minimum: 1, maximum: 365 }, "Days from now on in which a wait must end."), 90),
  },
  { additionalProperties: false, description: "Bounds of sessions that wait for events." },
);

export interface WaitsConfig {
  readonly max: number;
  readonly maxPerSession: number;
  readonly maxDays: number;
}

export function readWaits(written: Static<typeof WaitsSchema> | undefined): WaitsConfig {
  const { max, maxPerSession, maxDays } = WaitsSchema.properties;
  return {
    max: written?.max ?? max.default,
    maxPerSession: written?.maxPerSession ?? maxPerSession.default,
    maxDays: written?.maxDays ?? maxDays.default,
  };
}
