/** `rights` of a mapping: what a run may do by the level of who acted, fixed before anything of the payload is read. */
import Type, { type Static } from "typebox";
import type { Permissions } from "../../core/agent-rights.ts";
import { type Level, LEVELS } from "../../core/delivery.ts";
import type { ExtractSpec } from "../../core/extraction.ts";
import type { Findings } from "../errors.ts";
import { ExtractSchema, readExtract } from "../extract/schema.ts";
import { PermissionsSchema, readPermissions } from "../permissions.ts";
import { flag, text } from "../schema-parts.ts";

/** Hosts as an agent's `egress` lists them. */
const HOST = "^[^\\s/]+$";

const RightsOfLevel = Type.Object(
  {
    agentId: Type.Optional(text({ description: "The agent to use; it must exist." })),
    permissions: Type.Optional(
      PermissionsSchema("What is left of what the agent may do, in place of the mapping's `permissions`."),
    ),
    tools: Type.Optional(Type.Enum(["none"], { description: "`none`: the agent runs without any tool." })),
    egress: Type.Optional(
      Type.Array(text({ description: "A host as in `egress` of an agent.", pattern: HOST }), {
        maxItems: 200,
        description: "What is left of the hosts that the agent's programs can reach. Absent: all of them.",
      }),
    ),
    workspace: Type.Optional(
      Type.Literal(false, { description: "`false`: the run does not work in the mapping's `workspace`." }),
    ),
    deliver: Type.Optional(flag("`false`: the reply is not sent.")),
    channel: Type.Optional(
      text({
        description: "Channel of the reply, in place of the mapping's.",
        title: "the name of a channel",
        pattern: "\\S",
      }),
    ),
    to: Type.Optional(text({ description: "Recipient on that channel." })),
    extract: Type.Optional(ExtractSchema),
  },
  { additionalProperties: false, description: "The rights of one level." },
);

export const RightsSchema = Type.Object(
  {
    unknown: RightsOfLevel,
    known: Type.Optional(RightsOfLevel),
    trusted: Type.Optional(RightsOfLevel),
    owner: Type.Optional(RightsOfLevel),
  },
  {
    additionalProperties: false,
    description:
      "What a run may do by the level of who acted (see `actors`). A level that is left out has the rights of the next lower one; `unknown` is required. They only lower what the agent allows. With the action `wake`, `permissions`, `tools` and `egress` lower what the session may do that reads the text.",
  },
);

/** What a level leaves; an absent part is as the mapping says. */
export interface LevelRights {
  readonly agentId: string | undefined;
  readonly permissions: Permissions | undefined;
  readonly tools: "none" | undefined;
  readonly egress: readonly string[] | undefined;
  readonly workspace: false | undefined;
  readonly deliver: boolean | undefined;
  readonly channel: string | undefined;
  readonly to: string | undefined;
  readonly extract: ExtractSpec | undefined;
}

export type RightsConfig = Readonly<Record<Level, LevelRights>>;

/** Reads the key; `where` is its own. */
export function readRights(written: Static<typeof RightsSchema>, where: string, findings: Findings): RightsConfig {
  const rights: Partial<Record<Level, LevelRights>> = {};
  let lower = rightsOf(written.unknown, `${where}.unknown`, findings);
  for (const level of LEVELS) {
    const own = level === "unknown" ? undefined : written[level];
    if (own) lower = rightsOf(own, `${where}.${level}`, findings);
    rights[level] = lower;
  }
  return rights as RightsConfig;
}

function rightsOf(written: Static<typeof RightsOfLevel>, where: string, findings: Findings): LevelRights {
  const { permissions, agentId, tools, egress, workspace, deliver, channel, to, extract } = written;
  return {
    agentId: agentId?.trim(),
    permissions: permissions === undefined ? undefined : readPermissions(permissions, `${where}.permissions`, findings),
    tools,
    egress,
    workspace,
    deliver,
    channel: channel?.trim(),
    to: to?.trim() || undefined,
    extract: extract && readExtract(extract, `${where}.extract`, findings),
  };
}
