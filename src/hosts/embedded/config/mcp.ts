/** `gateway.mcp`: whose MCP clients look at the gateway, and whose may act on it. */
import Type, { type Static } from "typebox";
import { secrets, text } from "../../../config/schema-parts.ts";
import { readSecrets, type SecretSources } from "../../../config/secrets.ts";
import { MIN_TOKEN_CHARACTERS } from "../../../config/token.ts";
import type { Findings } from "../../../config/errors.ts";

const EVENT_NAME = "^[a-z0-9][a-z0-9._-]{0,99}$";
const MAX_EVENTS = 100;

export const McpSchema = Type.Object(
  {
    read: Type.Optional(
      secrets("The token of a client that may only look: deliveries, plans, explanations, open questions."),
    ),
    events: Type.Optional(
      Type.Record(
        Type.String({ pattern: EVENT_NAME }),
        Type.Object(
          {
            mapping: text({ description: "Id of the mapping or the named sender whose calls are the event." }),
            description: Type.Optional(text({ description: "What happens then, for the client's agent." })),
          },
          { additionalProperties: false, description: "One event." },
        ),
        {
          maxProperties: MAX_EVENTS,
          description:
            "Events that clients can subscribe to or poll, by names of your own: the calls of a mapping that its filters let pass. Absent: none.",
        },
      ),
    ),
    write: Type.Optional(secrets("The token of a client that may also replay, resolve, pause, resume and probe.")),
  },
  {
    additionalProperties: false,
    description:
      "The MCP server at `/mcp`. Absent: there is none. Each token is one of its own, with at least 24 characters.",
  },
);

export interface McpConfig {
  /** Each list may be empty, for rotation it may have more than one. */
  readonly readTokens: readonly string[];
  readonly writeTokens: readonly string[];
  readonly events: readonly OfferedEventConfig[];
}

/** An event that clients can subscribe to. */
export interface OfferedEventConfig {
  readonly name: string;
  /** The id of a mapping. */
  readonly mapping: string;
  readonly description: string;
}

/** Resolves the tokens; one that is too short, or opens something else as well, goes to the findings. */
export function readMcp(
  written: Static<typeof McpSchema> | undefined,
  { sources, findings, others }: { sources: SecretSources; findings: Findings; others: readonly string[] },
): McpConfig {
  const taken = new Set(others);
  const tokensOf = (scope: "read" | "write"): string[] => {
    const value = written?.[scope];
    if (value === undefined) return [];
    const tokens = readSecrets(value, `gateway.mcp.${scope}`, sources, findings);
    for (const { path, value: token } of tokens) {
      if (token.length < MIN_TOKEN_CHARACTERS) {
        findings.refuse(
          path,
          `has fewer than ${MIN_TOKEN_CHARACTERS} characters; make a longer one with: openssl rand -hex 24`,
        );
      }
      if (taken.has(token)) findings.refuse(path, "opens something else as well; make one of its own");
      taken.add(token);
    }
    return tokens.map(({ value: token }) => token);
  };
  const events = Object.entries(written?.events ?? {}).map(([name, { mapping, description }]) => {
    return { name, mapping, description: description ?? `A call of ${mapping} has come in.` };
  });
  return { readTokens: tokensOf("read"), writeTokens: tokensOf("write"), events };
}
