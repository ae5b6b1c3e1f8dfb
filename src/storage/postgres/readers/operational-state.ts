import { statement } from "../engine/statement.ts";

/** Every pause there is. */
export const readPauses = statement(
  { scope: "text", reason: "text", since: "integer" },
  `SELECT scope, reason, since FROM reveille.pauses ORDER BY scope COLLATE "C"`,
);

/** The counts from a minute on. */
export const readUsage = statement(
  { scope: "text", minute: "integer", runs: "integer", tokens: "integer", microUsd: "integer" },
  `SELECT scope, minute, runs, tokens, micro_usd AS "microUsd" FROM reveille.usage
  WHERE minute >= $1 ORDER BY minute, scope COLLATE "C"`,
);

/** Subjects of the outages that continue. */
export const readOutages = statement(
  { subject: "text" },
  `SELECT subject FROM reveille.outages ORDER BY subject COLLATE "C"`,
);
