/** `agents.list[].runtime`: what carries out the turns of an agent. */
import { isAbsolute, resolve } from "node:path";
import Type, { type Static } from "typebox";
import type { Findings } from "../../../config/errors.ts";
import { text } from "../../../config/schema-parts.ts";

export const RuntimeSchema = Type.Object(
  {
    type: Type.Enum(["model", "command"], {
      description: "`model`: a model of `models.providers`. `command`: a program that is started for each turn.",
    }),
    command: Type.Optional(
      Type.Array(text({ description: "The program, then its arguments; no shell reads them." }), {
        minItems: 1,
        maxItems: 100,
        description: "For `command`: the program and its arguments.",
      }),
    ),
    cwd: Type.Optional(
      text({
        description:
          "Folder that the program works in, relative to the configuration's folder. Absent: one of its own in the state folder.",
      }),
    ),
    env: Type.Optional(
      Type.Array(text({ description: "Name of a variable.", pattern: "^[A-Za-z_][A-Za-z0-9_]*$" }), {
        maxItems: 100,
        description:
          "Variables of the gateway's environment that the program gets, besides `PATH`, `LANG` and a `HOME` of its own.",
      }),
    ),
    isolation: Type.Optional(
      Type.Enum(["none"], {
        description:
          "`none`: the program has the rights of the gateway's own user. It has to be written out: what starts the program is a stranger's payload.",
      }),
    ),
  },
  { additionalProperties: false, description: "What carries out the turns. Absent: a model." },
);

/** A program that carries out turns. */
export interface CommandRuntime {
  /** Not empty. */
  readonly command: readonly string[];
  /** Absolute; `undefined`: a folder of its own. */
  readonly cwd: string | undefined;
  /** Names of variables that it gets. */
  readonly env: readonly string[];
}

interface RuntimePlace {
  readonly where: string;
  readonly configDir: string;
  /** True when the agent names a model of its own. */
  readonly hasModel: boolean;
  readonly findings: Findings;
}

/** Reads the block; `undefined` for an agent whose turns a model carries out. */
export function readRuntime(
  written: Static<typeof RuntimeSchema> | undefined,
  { where, configDir, hasModel, findings }: RuntimePlace,
): CommandRuntime | undefined {
  if (written === undefined) return undefined;
  const { type, command, cwd, env = [], isolation } = written;
  if (type === "model") {
    for (const key of ["command", "cwd", "env", "isolation"] as const) {
      if (written[key] !== undefined)
        findings.refuse(`${where}.${key}`, 'has no effect for the type "model"; leave it out');
    }
    return undefined;
  }
  if (command === undefined) findings.refuse(`${where}.command`, 'is required; write for example ["claude", "-p"]');
  if (hasModel) findings.refuse(`${where}.type`, "is a program, which takes no model; leave out model");
  if (isolation === undefined) {
    findings.refuse(
      `${where}.isolation`,
      'is required: this gateway does not confine programs; write "none" to let this one do what the gateway\'s own user may do',
    );
  } else {
    findings.warn(
      where,
      "the program is not confined: a payload that persuades it can do what the gateway's own user may do; let only senders that you trust reach this agent",
    );
  }
  const folder = cwd === undefined || isAbsolute(cwd) ? cwd : resolve(configDir, cwd);
  return { command: command ?? [], cwd: folder, env };
}
