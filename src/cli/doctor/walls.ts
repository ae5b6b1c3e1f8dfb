import { describeIsolation } from "../../transform/sandbox/isolation/describe.ts";
import { detectIsolation } from "../../transform/sandbox/isolation/detect.ts";
import { probeIsolation } from "../../transform/sandbox/isolation/probe.ts";
import type { IsolationReport } from "../../transform/sandbox/isolation/walls.ts";
import type { TransformUse } from "./configuration.ts";
import type { Finding } from "./finding.ts";

/** What is said of a wall that is only inside of the process, where a module is as well. */
const BY_NAME = "by name only";

export interface TriedWalls {
  /** As the gateway logs them. */
  readonly words: string;
  readonly reports: readonly IsolationReport[];
}

export type TryWalls = () => Promise<TriedWalls>;

/**
 * Tries the walls around transforms on this machine, each for real, and says what each is worth. Never
 * rejects: walls that cannot be tried are a finding too.
 */
export async function wallFindings(use: TransformUse, tryWalls: TryWalls = tryWallsHere): Promise<readonly Finding[]> {
  try {
    const { words, reports } = await tryWalls();
    return [...isolationFindings(use), anewFinding(words), ...reports.map((report) => wallFinding(report, use))];
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const message = `what keeps them in could not be tried: ${reason}`;
    return [...isolationFindings(use), { level: missingLevel(use), about: "transforms", message }];
  }
}

async function tryWallsHere(): Promise<TriedWalls> {
  const walls = await detectIsolation();
  return { words: describeIsolation(walls), reports: await probeIsolation(walls) };
}

function anewFinding(words: string): Finding {
  const message = `the walls were tried anew (${words}); the log of a running gateway tells those in force there`;
  return { level: "ok", about: "transforms", message };
}

function wallFinding(
  { action: wall, holds, by, detail, isOptional = false }: IsolationReport,
  use: TransformUse,
): Finding {
  const of = { about: "transforms", wall: { cannot: wall, holds, by } } as const;
  const seen = detail === undefined ? "" : ` (${detail})`;
  if (!holds) {
    const message = `can ${wall}: nothing on this machine keeps them from it${seen}`;
    return { ...of, level: isOptional ? "warning" : missingLevel(use), message };
  }
  if (by !== BY_NAME) return { ...of, level: "ok", message: `cannot ${wall}: ${by}` };
  const message = `cannot ${wall}, but ${BY_NAME}: one that finds a way around Node's functions can${seen}`;
  return { ...of, level: "warning", message };
}

/** A wall that is missing is a problem where there is something to keep in. */
function missingLevel({ count = 0, isolation }: TransformUse): "problem" | "warning" {
  return count > 0 && isolation === "process" ? "problem" : "warning";
}

function isolationFindings({ count, isolation }: TransformUse): readonly Finding[] {
  if (isolation === "process") return [];
  const message =
    "hooks.transforms.isolation is none: they run inside the gateway with all its rights, behind none of these walls";
  return [{ level: count === 0 ? "ok" : "warning", about: "transforms", message }];
}
