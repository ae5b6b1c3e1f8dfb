/** The parameters of the methods of events, and how they are checked. */
import Type, { type Static, type TSchema } from "typebox";
import { Check } from "typebox/schema";
import { McpMethodError } from "../../../api/mcp-events.ts";
import { reasonOf } from "../../../core/reason-of.ts";
import { fetchableUrl } from "../../../http/guarded-fetch.ts";

export const ArgumentsSchema = Type.Object(
  {
    event: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: "Only events that the sender calls so: pull_request.opened.",
      }),
    ),
  },
  { additionalProperties: false },
);
export const WishSchema = Type.Object({
  name: Type.String({ maxLength: 200 }),
  arguments: Type.Optional(ArgumentsSchema),
});
const cursorSchema = Type.Optional(Type.Union([Type.Null(), Type.String({ maxLength: 200 })]));
const maxAgeSchema = Type.Optional(Type.Number({ minimum: 0 }));
export const PollSchema = Type.Object({
  cursor: cursorSchema,
  maxAgeMs: maxAgeSchema,
  maxEvents: Type.Optional(Type.Integer({ minimum: 1 })),
});
export const SubscribeSchema = Type.Object({
  cursor: cursorSchema,
  maxAgeMs: maxAgeSchema,
  ttlMs: Type.Optional(Type.Union([Type.Null(), Type.Integer({ minimum: 0 })])),
  delivery: Type.Object({
    mode: Type.Optional(Type.String()),
    url: Type.String({ maxLength: 2_048 }),
    secret: Type.String({ maxLength: 200 }),
  }),
});
export const UnsubscribeSchema = Type.Object({ delivery: Type.Object({ url: Type.String({ maxLength: 2_048 }) }) });

export const PAYLOAD_SCHEMA = {
  type: "object",
  properties: {
    route: { type: "string" },
    mapping: { type: "string" },
    event: { type: ["string", "null"], description: "The sender's name of the event." },
    actor: { type: ["string", "null"] },
    level: { type: ["string", "null"], description: "owner, trusted, known, unknown or blocked." },
    notice: { type: "string" },
    payload: { description: "As it came; a text where it is not JSON, null where it is gone or too large." },
    payloadOmitted: { type: "boolean" },
  },
};

/** As Standard Webhooks wants it: 24 to 64 bytes. */
export function isSecret(secret: string): boolean {
  const [, digits = ""] = /^whsec_([A-Za-z0-9+/]+={0,2})$/u.exec(secret) ?? [];
  const bytes = Buffer.from(digits, "base64").length;
  return bytes >= 24 && bytes <= 64;
}

/** Throws an {@link McpMethodError} for a URL that is never called. */
export function checkUrl(url: string, options: { readonly allowLoopback: boolean }): void {
  try {
    fetchableUrl(url, options);
  } catch (error) {
    throw invalid(`delivery.url cannot be used: ${reasonOf(error)}`);
  }
}

export function invalid(reason: string): McpMethodError {
  return new McpMethodError(-32_602, `InvalidParams: ${reason}`);
}

/** Throws an {@link McpMethodError}. */
export function checked<Schema extends TSchema>(schema: Schema, params: unknown): Static<Schema> {
  if (isOf(schema, params)) return params;
  throw new McpMethodError(-32_602, "InvalidParams");
}

function isOf<Schema extends TSchema>(schema: Schema, params: unknown): params is Static<Schema> {
  return Check(schema, params);
}

const DEFAULT_TTL_MS = 86_400_000;
const LEAST_TTL_MS = 60_000;
const LONGEST_TTL_MS = 604_800_000;

/** How long a subscription lasts, in milliseconds: what the client asks for, within bounds; `null` asks for ever. */
export function lifetimeOf(ttlMs: number | null | undefined): number {
  if (ttlMs === null) return LONGEST_TTL_MS;
  return Math.min(Math.max(ttlMs ?? DEFAULT_TTL_MS, LEAST_TTL_MS), LONGEST_TTL_MS);
}
