/** `gateway.expose`: the installed tool that gives the hooks a public URL. */
import Type, { type Static } from "typebox";
import type { Findings } from "../../../config/errors.ts";
import { flag, text, whole, withDefault } from "../../../config/schema-parts.ts";
import { showValue } from "../../../config/show-value.ts";

export const ExposeSchema = Type.Object(
  {
    via: Type.Enum(["tailscale", "cloudflared", "ngrok", "command"], {
      description:
        "The tool. `tailscale`: Tailscale Funnel. `cloudflared`: a quick tunnel of Cloudflare. `ngrok`: an agent of ngrok. `command`: a program of your own.",
    }),
    command: Type.Optional(
      Type.Array(text({ description: "The program, then its arguments; no shell reads them." }), {
        minItems: 1,
        maxItems: 100,
        description:
          "With `command`: the program and its arguments, in which `{port}` and `{target}` are the port and the URL that it passes calls to. The first https URL that it prints is the public one.",
      }),
    ),
    args: Type.Optional(
      Type.Array(text({ description: "One argument." }), {
        maxItems: 100,
        description: 'Further arguments of the tool, for example `["--url", "https://hooks.example.com"]` for ngrok.',
      }),
    ),
    url: Type.Optional(
      text({ description: "The public URL, for a tool that prints none, such as a named tunnel of Cloudflare." }),
    ),
    port: withDefault(
      whole(
        { minimum: 0, maximum: 65_535 },
        "Port on 127.0.0.1 that the tool passes calls to, on which nothing but the hooks is served; 0: any free one.",
      ),
      0,
    ),
    env: Type.Optional(
      Type.Array(text({ description: "Name of a variable.", pattern: "^[A-Za-z_][A-Za-z0-9_]*$" }), {
        maxItems: 100,
        description:
          "Variables of the gateway's environment that the tool gets besides `PATH`, `HOME` and `LANG`, for example `NGROK_AUTHTOKEN`.",
      }),
    ),
    forwarded: withDefault(
      flag(
        "With `command`: the program itself writes the address of the caller last into `X-Forwarded-For`. Otherwise all callers count as one client of no known address. The other tools do so.",
      ),
      false,
    ),
    also: withDefault(
      Type.Array(Type.Enum(["api", "console"], { description: "A further part of the gateway." }), {
        maxItems: 2,
        description: "What is exposed besides the hooks: `api`, `console`. Both take the gateway token.",
      }),
      [],
    ),
  },
  {
    additionalProperties: false,
    description: "Gives the hooks a public URL by a tool that is installed; it becomes `hooks.publicUrl`.",
  },
);

export type ExposeTool = Static<typeof ExposeSchema>["via"];
/** A part of the gateway besides the hooks. */
export type ExposedPart = "api" | "console";

export interface ExposeConfig {
  readonly via: ExposeTool;
  /** The program and its arguments of `command`; else further arguments of the tool. */
  readonly words: readonly string[];
  /** The public URL where the tool prints none, without a slash at its end. */
  readonly url: string | undefined;
  /** 0: a free port. */
  readonly port: number;
  readonly env: readonly string[];
  /** True: the last address in `X-Forwarded-For` is from the tool. */
  readonly isForwarded: boolean;
  readonly also: readonly ExposedPart[];
}

const WHERE = "gateway.expose";
const EXAMPLE = 'write for example ["ssh", "-R", "80:localhost:{port}", "tunnel.example.com"]';

/** Fills in defaults; what is wrong goes to the findings. */
export function readExpose(
  written: Static<typeof ExposeSchema> | undefined,
  findings: Findings,
): ExposeConfig | undefined {
  if (written === undefined) return undefined;
  const { via, command, args, url, port = 0, env = [], forwarded, also = [] } = written;
  const isOwn = via === "command";
  if (isOwn && command === undefined)
    findings.refuse(`${WHERE}.command`, `is required with via: "command"; ${EXAMPLE}`);
  if (!isOwn && command !== undefined) {
    findings.refuse(`${WHERE}.command`, 'is only for via: "command"; write further arguments into args');
  }
  if (isOwn && args !== undefined)
    findings.refuse(`${WHERE}.args`, 'is not for via: "command"; write them into command');
  if (!isOwn && forwarded !== undefined) findings.refuse(`${WHERE}.forwarded`, 'is only for via: "command"');
  return {
    via,
    words: (isOwn ? command : args) ?? [],
    url: readUrl(url, findings),
    port,
    env,
    isForwarded: !isOwn || forwarded === true,
    also: [...new Set(also)],
  };
}

function readUrl(written: string | undefined, findings: Findings): string | undefined {
  if (written === undefined) return undefined;
  const url = URL.parse(written.trim());
  const isHttp = url !== null && (url.protocol === "https:" || url.protocol === "http:");
  if (isHttp && url.username === "" && url.password === "" && url.search === "" && url.hash === "") {
    return `${url.origin}${url.pathname}`.replace(/\/+$/u, "");
  }
  const message = `${showValue(written)} is not an http or https URL of a host and a path; write for example "https://hooks.example.com"`;
  findings.refuse(`${WHERE}.url`, message);
  return undefined;
}
