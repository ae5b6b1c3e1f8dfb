/** `agents.list[].tools`: what a model can call, and how often. */
import Type, { type Static } from "typebox";
import { flag, secrets, text, whole, withDefault } from "../../../config/schema-parts.ts";
import { type EndpointContext, readHeaders, requireUrl } from "./endpoint.ts";
import { type KeyPath, showKeyPath } from "../../../config/show-value.ts";
import { PROGRAM_KEYS, type ProgramConfig, readProgram } from "./runtime.ts";

const ServerSchema = Type.Object(
  {
    url: Type.Optional(text({ description: "URL of a server that speaks streamable HTTP." })),
    headers: Type.Optional(
      Type.Record(Type.String(), secrets("Value of the header."), { description: "Sent with each of its requests." }),
    ),
    private: Type.Optional(
      flag("`false`: its tools reach nothing private. Absent: they do, as far as the Rule of Two is concerned."),
    ),
    outward: Type.Optional(
      flag(
        "`false`: its tools act on nothing outside, and send nothing there. Absent: they do, unless it is a confined program without `egress`.",
      ),
    ),
    ...PROGRAM_KEYS,
  },
  { additionalProperties: false, description: "A server of the Model Context Protocol: a `command`, or a `url`." },
);

export const ToolsSchema = Type.Object(
  {
    mcp: Type.Record(Type.String({ pattern: "^[A-Za-z0-9_-]{1,32}$" }), ServerSchema, {
      description: "The servers of tools, by a name of your own.",
    }),
    allow: Type.Array(text({ description: "`<server>.<tool>`.", pattern: "^[A-Za-z0-9_-]{1,32}\\..+$" }), {
      maxItems: 200,
      description:
        "The tools that the model is shown; `<server>.*` is all of a server. What it may call of them, `permissions` decides.",
    }),
    maxSteps: withDefault(
      whole({ minimum: 1, maximum: 100 }, "Requests to the model in one turn, after which the turn fails."),
      12,
    ),
  },
  { additionalProperties: false, description: "Tools for a model." },
);

/** A server of tools: a program, or a URL. */
export type ToolServer = ToolMarks &
  ({ readonly program: ProgramConfig } | { readonly url: string; readonly headers: Readonly<Record<string, string>> });

/** What the owner says of a server's tools; `undefined`: nothing. */
export interface ToolMarks {
  readonly isPrivate: boolean | undefined;
  readonly isOutward: boolean | undefined;
}

export interface ToolsConfig {
  readonly servers: ReadonlyMap<string, ToolServer>;
  /** `<server>.<tool>` or `<server>.*`. */
  readonly allow: readonly string[];
  readonly maxSteps: number;
}

export interface ToolsPlace extends EndpointContext {
  /** The way to the block. */
  readonly keys: KeyPath;
  readonly configDir: string;
}

export function readTools(written: Static<typeof ToolsSchema>, place: ToolsPlace): ToolsConfig {
  const { findings, keys, configDir } = place;
  const where = showKeyPath(keys);
  const servers = new Map<string, ToolServer>();
  for (const [name, server] of Object.entries(written.mcp)) {
    const key = `${where}.mcp.${name}`;
    const { url, headers = {}, private: isPrivate, outward: isOutward } = server;
    const marks = { isPrivate, isOutward };
    if ((url === undefined) === (server.command === undefined)) {
      findings.refuse(key, "needs either a command or a url");
    } else if (url === undefined) {
      servers.set(name, { ...marks, program: readProgram(server, { where: key, configDir, findings }) });
    } else {
      requireUrl(url, `${key}.url`, place);
      for (const other of Object.keys(PROGRAM_KEYS).filter((at) => Object.hasOwn(server, at))) {
        findings.refuse(`${key}.${other}`, "has no effect beside url; leave it out");
      }
      servers.set(name, { ...marks, url, headers: readHeaders(headers, [...keys, "mcp", name, "headers"], place) });
    }
  }
  for (const [at, tool] of written.allow.entries()) {
    const [server = ""] = tool.split(".");
    if (!Object.hasOwn(written.mcp, server)) {
      findings.refuse(`${where}.allow[${at}]`, `names the server "${server}", which is not in mcp`);
    }
  }
  return { servers, allow: written.allow, maxSteps: written.maxSteps ?? ToolsSchema.properties.maxSteps.default };
}
