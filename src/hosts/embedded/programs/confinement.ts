/** What a confined program may read, write and reach, and the process that holds it to that. */
import { realpathSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { siblingUrl } from "../../../storage/sqlite/engine/start-thread.ts";

/** What a program is confined to, in words of the machine. Paths are absolute. */
export interface Confinement {
  /** Closed, unless `allowRead` or `allowWrite` opens a part of it again. */
  readonly denyRead: readonly string[];
  readonly allowRead: readonly string[];
  readonly allowWrite: readonly string[];
  /** Hosts that it can reach; `host` or `host:port`, `*.` for every name below. */
  readonly egress: readonly string[];
}

/** The first message to the process that confines a program. */
export interface ConfineOrder extends Confinement {
  readonly command: readonly string[];
  /** Variables that only the program gets. */
  readonly variables: Readonly<Record<string, string>>;
}

/** What it reports. */
export type ConfineReport =
  /** The program asked for a host that is not in `egress`. */
  | { readonly refusedHost: string }
  /** The machine cannot confine programs. */
  | { readonly problem: string };

/** What the owner installs where programs cannot be confined. */
export const CONFINEMENT_ADVICE =
  "install the package @anthropic-ai/sandbox-runtime beside Reveille and, on Linux, bubblewrap, socat and ripgrep";

export interface ConfinedPlaces {
  readonly cwd: string;
  /** The program may not write in its working directory. */
  readonly isReadOnly: boolean;
  readonly home: string;
  readonly read: readonly string[];
  readonly write: readonly string[];
  readonly egress: readonly string[];
  /** Folders of the gateway: its state, its configuration. */
  readonly ofGateway: readonly string[];
}

/** Homes, temporary files and what is the gateway's own are closed; the rest of the machine can be read. */
export function confine({ cwd, isReadOnly, home, read, write, egress, ofGateway }: ConfinedPlaces): Confinement {
  const node = dirname(realpathSync(process.execPath));
  return {
    denyRead: unique([homedir(), "/root", "/home", "/Users", tmpdir(), "/tmp", "/var/tmp", ...ofGateway]),
    allowRead: unique([cwd, home, node, ...read, ...write]),
    allowWrite: unique([...(isReadOnly ? [] : [cwd]), home, ...write]),
    egress,
  };
}

/** The command line of the process that starts the program, confined. */
export function confinedCommand(
  confinement: Confinement,
  { command, variables }: Pick<ConfineOrder, "command" | "variables">,
): readonly string[] {
  const order: ConfineOrder = { ...confinement, command, variables };
  return [process.execPath, fileURLToPath(WORKER), JSON.stringify(order)];
}

const WORKER = siblingUrl("confine-worker", import.meta.url);

function unique(paths: readonly string[]): string[] {
  return [...new Set(paths)];
}

/** Where the temporary files of an agent's programs are, each in a folder of its own. */
export function temporaryFolder(home: string): string {
  return join(home, "tmp");
}
