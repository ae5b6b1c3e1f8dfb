import Type, { type Static } from "typebox";
import type { Findings } from "./errors.ts";
import { secret } from "./schema-parts.ts";
import { readSecrets, type SecretSources } from "./secrets.ts";

/** `hooks.store`. */
export const StoreSchema = Type.Object(
  {
    url: secret(
      "The database: `postgresql://user:password@host:5432/name`, with `?sslmode=verify-full` over a network that is not yours. PostgreSQL 15 or later, without a pooler in between.",
    ),
    several: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          "Several gateways with the same configuration accept calls and carry out turns of agents; one of them decides about the runs, and another takes its place when it is gone. Not in OpenClaw.",
      }),
    ),
  },
  {
    additionalProperties: false,
    description:
      "Keeps the deliveries, and the sessions of the embedded gateway, in PostgreSQL, which one gateway at a time can use, or several with `several`; `reveille migrate` makes its tables. Absent: in the SQLite file of the state folder. Read at the start only.",
  },
);

export interface StoreConfig {
  /** Has a password. */
  readonly url: string;
  /** Other gateways use it beside this one. */
  readonly several: boolean;
}

const WHERE = "hooks.store.url";

/** Reads `hooks.store`; `undefined` while hooks are off and when the URL is refused. */
export function readStore(
  input: Static<typeof StoreSchema> | undefined,
  sources: SecretSources | undefined,
  findings: Findings,
): StoreConfig | undefined {
  if (input === undefined || sources === undefined) return undefined;
  const [found] = readSecrets(input.url, WHERE, sources, findings);
  if (found === undefined) return undefined;
  const url = URL.canParse(found.value) ? new URL(found.value) : undefined;
  // No part of it is shown: it may be a password in the wrong place.
  if (url === undefined || !["postgresql:", "postgres:"].includes(url.protocol) || url.pathname.length < 2) {
    findings.refuse(WHERE, "is not the URL of a database; write postgresql://user:password@host:5432/name");
    return undefined;
  }
  return { url: found.value, several: input.several ?? false };
}
