/** `permissions` of an agent, and of a mapping that lowers them. */
import Type, { type Static } from "typebox";
import { ACT_KINDS, type PermissionRule, type Permissions } from "../core/agent-rights.ts";
import type { ChannelInfo } from "../core/host.ts";
import type { Findings } from "./errors.ts";
import { text } from "./schema-parts.ts";

const RuleSchema = Type.Object(
  {
    tool: Type.Optional(
      text({
        description: "A tool of an MCP server, `<server>.<tool>`; `*` at its end matches any characters.",
        pattern: "^[^.\\s]+\\..+$",
      }),
    ),
    kind: Type.Optional(Type.Enum([...ACT_KINDS], { description: "The kind of act that the agent claims." })),
    command: Type.Optional(
      text({
        description:
          "A command line: `git status`. With ` *` at its end, any arguments without a metacharacter of the shell: `git log *`.",
        pattern: "\\S",
      }),
    ),
    path: Type.Optional(
      text({
        description: "A folder or file, relative to the working directory, and what is below it; `.` is all of it.",
        pattern: "\\S",
      }),
    ),
  },
  {
    additionalProperties: false,
    minProperties: 1,
    description: "An act matches when all that the rule names matches.",
  },
);

/** Written `"deny"`, `"reads"`, `"ask"`, `"all"` or `{ allow: [...] }`. */
export const PermissionsSchema = (description: string) =>
  Type.Union(
    [
      Type.Enum(["deny", "reads", "ask", "all"]),
      Type.Object(
        {
          allow: Type.Array(RuleSchema, {
            maxItems: 200,
            description: "Acts that are allowed; all others are denied.",
          }),
        },
        { additionalProperties: false },
      ),
    ],
    {
      title: '"deny", "reads", "ask", "all" or { allow: [...] }',
      description,
    },
  );

type Written = Static<ReturnType<typeof PermissionsSchema>>;

export function readPermissions(written: Written, where: string, findings: Findings): Permissions {
  if (typeof written === "string") return written;
  for (const [at, { path }] of written.allow.entries()) {
    if (path !== undefined && (path.startsWith("/") || path.split("/").includes(".."))) {
      findings.refuse(`${where}.allow[${at}].path`, "leaves the working directory; write a path inside of it");
    }
  }
  return { allow: written.allow satisfies readonly PermissionRule[] };
}

/** A question without an answer means no: permissions that ask are refused where no question could be sent. */
export const NO_ONE_TO_ASK =
  'asks by its permissions, and no channel has a recipient for the questions; enable the channel console, or give a channel its "to"';

export function canAsk(channels: readonly ChannelInfo[]): boolean {
  return channels.some(({ defaultTo }) => defaultTo !== undefined);
}
