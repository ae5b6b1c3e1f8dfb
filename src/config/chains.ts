/** `hooks.chains`: events that runs of the gateway caused. */
import Type, { type Static } from "typebox";
import { whole, withDefault } from "./schema-parts.ts";

export const ChainsSchema = Type.Object(
  {
    maxDepth: withDefault(
      whole(
        { minimum: 0, maximum: 100 },
        "Events in a row, each caused by a run of the one before, that begin runs; further ones are filtered. 0: none that a run caused.",
      ),
      3,
    ),
    maxDeliveries: withDefault(
      whole(
        { minimum: 1, maximum: 100_000 },
        "Events of one chain that begin runs, besides the first; further ones are filtered.",
      ),
      50,
    ),
  },
  {
    additionalProperties: false,
    description: "Bounds of events that runs of this gateway cause, as far as what its runs write carries their mark.",
  },
);

export interface ChainsConfig {
  readonly maxDepth: number;
  readonly maxDeliveries: number;
}

export function readChains(written: Static<typeof ChainsSchema> | undefined): ChainsConfig {
  const { maxDepth, maxDeliveries } = ChainsSchema.properties;
  return {
    maxDepth: written?.maxDepth ?? maxDepth.default,
    maxDeliveries: written?.maxDeliveries ?? maxDeliveries.default,
  };
}
