/** Programs that carry out the turns of an agent or serve its tools: `agents.list[].runtime` and MCP servers. */
import { isAbsolute, relative, resolve } from "node:path";
import Type, { type Static, type TProperties } from "typebox";
import type { Findings } from "../../../config/errors.ts";
import { text } from "../../../config/schema-parts.ts";

const path = (description: string) => text({ description, pattern: "\\S" });

/** The keys of any program that the gateway starts. */
export const PROGRAM_KEYS = {
  command: Type.Optional(
    Type.Array(text({ description: "The program, then its arguments; no shell reads them." }), {
      minItems: 1,
      maxItems: 100,
      description: "The program and its arguments.",
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
  read: Type.Optional(
    Type.Array(path("A folder or file."), {
      maxItems: 100,
      description:
        "What the program may read of the folders that are closed to it: homes, temporary files, the gateway's state and configuration. A program that is installed in a home needs its folder here.",
    }),
  ),
  write: Type.Optional(
    Type.Array(path("A folder or file."), {
      maxItems: 100,
      description: "What the program may write besides its working directory, its home and its temporary folder.",
    }),
  ),
  isolation: Type.Optional(
    Type.Enum(["none"], {
      description:
        "`none`: the program is not confined and has the rights of the gateway's own user. Absent: it is confined, and does not start where the machine cannot do that.",
    }),
  ),
} satisfies TProperties;

export const RuntimeSchema = Type.Object(
  {
    type: Type.Enum(["model", "command", "acp"], {
      description:
        "`model`: a model of `models.providers`. `command`: a program that is started for each turn. `acp`: an agent that speaks the Agent Client Protocol; its process stays.",
    }),
    ...PROGRAM_KEYS,
  },
  { additionalProperties: false, description: "What carries out the turns. Absent: a model." },
);

/** A program that the gateway starts. */
export interface ProgramConfig {
  /** Not empty. */
  readonly command: readonly string[];
  /** Absolute; `undefined`: a folder of its own. */
  readonly cwd: string | undefined;
  /** Names of variables that it gets. */
  readonly env: readonly string[];
  /** Absolute paths. */
  readonly read: readonly string[];
  readonly write: readonly string[];
  readonly isConfined: boolean;
}

/** A program that carries out turns. */
export interface ProgramRuntime extends ProgramConfig {
  readonly type: "command" | "acp";
}

interface ProgramPlace {
  readonly where: string;
  readonly configDir: string;
  readonly findings: Findings;
}

interface RuntimePlace extends ProgramPlace {
  /** True when the agent names a model of its own. */
  readonly hasModel: boolean;
}

type WrittenProgram = Omit<Static<typeof RuntimeSchema>, "type">;

/** Reads the block; `undefined` for an agent whose turns a model carries out. */
export function readRuntime(
  written: Static<typeof RuntimeSchema> | undefined,
  place: RuntimePlace,
): ProgramRuntime | undefined {
  if (written === undefined) return undefined;
  const { where, hasModel, findings } = place;
  const { type } = written;
  if (type === "model") {
    for (const key of Object.keys(PROGRAM_KEYS) as (keyof typeof PROGRAM_KEYS)[]) {
      if (written[key] !== undefined)
        findings.refuse(`${where}.${key}`, 'has no effect for the type "model"; leave it out');
    }
    return undefined;
  }
  if (written.command === undefined)
    findings.refuse(`${where}.command`, 'is required; write for example ["claude", "-p"]');
  if (hasModel) findings.refuse(`${where}.type`, "is a program, which takes no model; leave out model");
  return { type, ...readProgram(written, place) };
}

/** Reads the keys of a program. */
export function readProgram(
  { command = [], cwd, env = [], read = [], write = [], isolation }: WrittenProgram,
  { where, configDir, findings }: ProgramPlace,
): ProgramConfig {
  const absolute = (written: string): string => (isAbsolute(written) ? written : resolve(configDir, written));
  const folder = cwd === undefined ? undefined : absolute(cwd);
  const isConfined = isolation === undefined;
  if (!isConfined) {
    findings.warn(
      where,
      "the program is not confined: a payload that persuades it can do what the gateway's own user may do; let only senders that you trust reach this agent",
    );
    if (read.length + write.length > 0) findings.warn(where, 'read and write have no effect with the isolation "none"');
  } else if (folder !== undefined && !relative(folder, configDir).startsWith("..")) {
    findings.refuse(
      `${where}.cwd`,
      "holds the gateway's configuration, which a confined program must not read; give it a folder of its own",
    );
  }
  return { command, cwd: folder, env, read: read.map(absolute), write: write.map(absolute), isConfined };
}
