/** OpenClaw's `hooks` block as any of its versions from 2026.1 to 2026.9 takes it. */
import Type from "typebox";
import type { Static, TSchema } from "typebox";
import { compileSchemaCheck } from "../../../config/schema-check.ts";

const optional = <Schema extends TSchema>(schema: Schema) => Type.Optional(schema);
const closed = { additionalProperties: false } as const;
const text = () => optional(Type.String());
const hidden = () => optional(Type.String({ writeOnly: true }));
const flag = () => optional(Type.Boolean());
const texts = () => optional(Type.Array(Type.String()));
/** A number, also written as a string: what older tools have left in files. */
const count = () =>
  optional(
    Type.Union([Type.Integer({ minimum: 1 }), Type.String({ pattern: "^\\s*0*[1-9][0-9]{0,14}\\s*$" })], {
      title: "a whole number above 0",
    }),
  );

const HostMappingSchema = Type.Object(
  {
    id: text(),
    match: optional(Type.Object({ path: text(), source: text() }, closed)),
    action: optional(Type.Enum(["wake", "agent"])),
    wakeMode: optional(Type.Enum(["now", "next-heartbeat"])),
    name: text(),
    agentId: text(),
    sessionKey: text(),
    sessionMode: optional(Type.Enum(["isolated", "persistent"])),
    messageTemplate: text(),
    textTemplate: text(),
    forEach: text(),
    deliver: flag(),
    allowUnsafeExternalContent: flag(),
    channel: text(),
    to: text(),
    model: text(),
    thinking: text(),
    timeoutSeconds: count(),
    transform: optional(Type.Object({ module: Type.String(), export: text() }, closed)),
  },
  { ...closed, title: "a mapping" },
);

const HostGmailSchema = Type.Object(
  {
    account: text(),
    label: text(),
    topic: text(),
    subscription: text(),
    pushToken: hidden(),
    hookUrl: hidden(),
    includeBody: flag(),
    maxBytes: count(),
    renewEveryMinutes: count(),
    allowUnsafeExternalContent: flag(),
    serve: optional(Type.Object({ bind: text(), port: count(), path: text() }, closed)),
    tailscale: optional(
      Type.Object({ mode: optional(Type.Enum(["off", "serve", "funnel"])), path: text(), target: text() }, closed),
    ),
    model: text(),
    thinking: optional(Type.Enum(["off", "minimal", "low", "medium", "high"])),
  },
  { ...closed, title: "the settings of the Gmail watcher" },
);

/** Keys of all versions together; `internal` is another system and not looked at. */
const HostHooksSchema = Type.Object(
  {
    enabled: flag(),
    token: hidden(),
    path: text(),
    maxBodyBytes: count(),
    defaultSessionKey: text(),
    allowRequestSessionKey: flag(),
    allowedSessionKeyPrefixes: texts(),
    allowedAgentIds: texts(),
    presets: texts(),
    transformsDir: text(),
    mappings: optional(Type.Array(HostMappingSchema)),
    gmail: optional(HostGmailSchema),
    internal: optional(Type.Unknown()),
  },
  { ...closed, title: "an object of settings" },
);

export type HostHooks = Static<typeof HostHooksSchema>;
export type HostMapping = Static<typeof HostMappingSchema>;

/** The keys of a block that no version takes, with their paths; never shows a secret. */
export const checkHostHooks = compileSchemaCheck(HostHooksSchema, { root: ["hooks"] });

/** A number that {@link checkHostHooks} took; `undefined` when it is absent. */
export function countOf(written: number | string | undefined): number | undefined {
  return written === undefined ? undefined : Number(written);
}
