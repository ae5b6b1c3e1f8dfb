/** One run of the tool that gives a public URL, from its start to its end. */
import { homedir } from "node:os";
import { join } from "node:path";
import { reasonOf } from "../../../core/reason-of.ts";
import { settledWithin } from "../../../core/settled-within.ts";
import type { ExposeConfig } from "../config/expose.ts";
import type { Environment } from "../config/substitute-env.ts";
import { Program, type ProgramEnd } from "../programs/program.ts";
import { onLines } from "./output-lines.ts";
import { toolOf, type ToolFacts, type TunnelTarget } from "./tools.ts";

export interface ToolRun {
  readonly config: ExposeConfig;
  readonly target: TunnelTarget;
  readonly stateDir: string;
  /** The gateway's environment, of which the tool gets what is listed. */
  readonly env: Environment;
  /** How long the tool may take for its URL. */
  readonly urlMs: number;
  /** Called with the first URL and with each other one. */
  readonly onUrl: (url: string) => void;
  /** Ends the tool and all that it started. */
  readonly signal: AbortSignal;
}

const LAST_LINES_MS = 1_000;
const MAX_SHOWN_CHARS = 300;
const MIN_SECRET_CHARS = 8;
/** No word of a message is that long, but tokens are, which some tools repeat when they refuse them. */
const LONG_WORD = /[\w+=-]{32,}/gu;
// eslint-disable-next-line no-control-regex -- these are what is looked for
const CONTROL = /[\u0000-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/gu;

/** Resolves with the reason why the tool does not run any more, once nothing of it is left. Never rejects. */
export async function runTool(run: ToolRun): Promise<string> {
  const { config, target, signal } = run;
  const tool = toolOf(config);
  const [name = ""] = tool.command(target);
  const output = new ToolOutput(run, tool);
  let program: Program;
  try {
    program = await startTool(run, tool);
  } catch (error) {
    const reason = reasonOf(error);
    if (!reason.includes("ENOENT")) return reason;
    return `${name} is not installed, or not in the PATH of the gateway: ${tool.install}`;
  }
  const end = (): void => void program.end();
  const late = setTimeout(() => {
    if (output.url !== undefined) return;
    output.isLate = true;
    end();
  }, run.urlMs);
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  const closed = Promise.all(
    [program.stdout, program.stderr].map((stream) => onLines(stream, (line) => output.take(line))),
  );
  program.stdin.end();
  if (config.url !== undefined) output.found(config.url);
  try {
    const ended = await program.ended;
    // The reason is on the last line.
    await settledWithin(closed, LAST_LINES_MS);
    return output.reason(name, ended);
  } catch (error) {
    return reasonOf(error);
  } finally {
    clearTimeout(late);
    signal.removeEventListener("abort", end);
  }
}

/** What the tool has said so far. */
class ToolOutput {
  readonly #run: ToolRun;
  readonly #tool: ToolFacts;
  readonly #hidden: readonly string[];
  #last = "";
  url: string | undefined;
  isLate = false;

  constructor(run: ToolRun, tool: ToolFacts) {
    this.#run = run;
    this.#tool = tool;
    const values = [...tool.env, ...run.config.env].map((name) => run.env[name] ?? "");
    this.#hidden = values.filter((value) => value.length >= MIN_SECRET_CHARS);
  }

  take(line: string): void {
    this.#last = line;
    if (this.#run.config.url !== undefined) return;
    // A program of the owner's may print others later, such as a link to its manual.
    if (this.#run.config.via === "command" && this.url !== undefined) return;
    const url = this.#tool.urlIn(line);
    if (url !== undefined) this.found(url);
  }

  found(url: string): void {
    if (this.#run.signal.aborted || this.isLate || url === this.url) return;
    this.url = url;
    this.#run.onUrl(url);
  }

  reason(name: string, { code, killedBy }: ProgramEnd): string {
    const last = this.#last === "" ? "it printed nothing" : `its last line: ${this.#shown()}`;
    if (this.isLate) return `${name} has printed no public URL within ${this.#run.urlMs / 1_000} s; ${last}`;
    return `${name} ended ${killedBy === null ? `with exit code ${code}` : `by ${killedBy}`}; ${last}`;
  }

  /** For the log and the console: without secrets, and on one line. */
  #shown(): string {
    let line = this.#last;
    for (const secret of this.#hidden) line = line.replaceAll(secret, "…");
    const plain = line.replaceAll(LONG_WORD, "…").replaceAll(CONTROL, "\uFFFD");
    return plain.length <= MAX_SHOWN_CHARS ? plain : `${plain.slice(0, MAX_SHOWN_CHARS).toWellFormed()}…`;
  }
}

function startTool({ config, target, stateDir, env }: ToolRun, tool: ToolFacts): Promise<Program> {
  const folder = join(stateDir, "tunnel");
  return Program.start({
    config: {
      command: [...tool.command(target)],
      env: [...tool.env, ...config.env],
      read: [],
      write: [],
      isConfined: false,
    },
    cwd: folder,
    isReadOnly: false,
    home: folder,
    // Its account and its settings are there.
    userHome: env["HOME"] ?? homedir(),
    egress: [],
    ofGateway: [],
    variables: {},
    env,
  });
}
