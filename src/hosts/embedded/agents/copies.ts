/** Where the working copies of git repositories are, and how they go. */
import { readdir, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Logger } from "../../../core/host.ts";
import { temporaryFolder } from "../programs/confinement.ts";

/** Folder of all that is about an agent's working copies, in the gateway's state. */
export function workspacesOf(stateDir: string, agentId: string): string {
  return join(stateDir, "agents", agentId, "workspaces");
}

/** The copies: the only folder in there that the agent may see. */
export function copiesOf(workspaces: string): string {
  return join(workspaces, "copies");
}

/** Copies that are being made: out of reach of every agent, since git runs in them. */
export function madeIn(workspaces: string): string {
  return join(workspaces, "made");
}

/** For each kept copy the commit that it was made of; its time is that of the latest turn in it. */
export function stampsIn(workspaces: string): string {
  return join(workspaces, "stamps");
}

interface CopiesOptions {
  readonly stateDir: string;
  readonly logger: Logger;
}

/** Removes the kept copies that no turn has used since a time, in milliseconds since the epoch; never rejects. */
export async function removeOldCopies(before: number, options: CopiesOptions): Promise<void> {
  await ofEachAgent(options, async (workspaces) => {
    for (const name of await namesIn(stampsIn(workspaces))) {
      const stamp = join(stampsIn(workspaces), name);
      if ((await stat(stamp)).mtimeMs >= before) continue;
      await remove(join(copiesOf(workspaces), name));
      await remove(stamp);
    }
  });
}

/**
 * Removes what a gateway that was killed has left: copies of isolated runs, those that were being made, and temporary
 * files of programs. To be called before any turn begins; never rejects.
 */
export async function removeLeftovers(options: CopiesOptions): Promise<void> {
  await ofEachAgent(options, async (workspaces) => {
    const kept = new Set(await namesIn(stampsIn(workspaces)));
    await remove(madeIn(workspaces));
    await remove(temporaryFolder(join(dirname(workspaces), "home")));
    for (const name of await namesIn(copiesOf(workspaces))) {
      if (!kept.has(name)) await remove(join(copiesOf(workspaces), name));
    }
  });
}

/** Of every agent that ever had one: the configuration may name it no more. */
async function ofEachAgent(
  { stateDir, logger }: CopiesOptions,
  work: (workspaces: string) => Promise<void>,
): Promise<void> {
  for (const id of await namesIn(join(stateDir, "agents"))) {
    try {
      await work(workspacesOf(stateDir, id));
    } catch (error) {
      logger.warn({ err: error, agent: id }, "working copies could not be removed");
    }
  }
}

function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}

function remove(path: string): Promise<void> {
  return rm(path, { recursive: true, force: true });
}
