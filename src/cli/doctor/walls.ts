import { describeIsolation } from "../../transform/sandbox/isolation/describe.ts";
import { detectIsolation } from "../../transform/sandbox/isolation/detect.ts";
import { probeIsolation } from "../../transform/sandbox/isolation/probe.ts";
import type { IsolationReport } from "../../transform/sandbox/isolation/walls.ts";
import type { TransformUse } from "./configuration.ts";
import type { DoctorFinding } from "./finding.ts";

/** What is said of a wall that is only inside of the process, where a module is as well. */
const BY_NAME = "by name only";

export interface ProbedIsolation {
  /** As the gateway logs them. */
  readonly words: string;
  readonly reports: readonly IsolationReport[];
}

export type ProbeIsolation = () => Promise<ProbedIsolation>;

/**
 * Tries the walls around transforms on this machine, each for real, and says what each is worth. Never
 * rejects: walls that cannot be tried are a finding too.
 */
export async function isolationFindings(
  use: TransformUse,
  tryWalls: ProbeIsolation = probeHere,
): Promise<readonly DoctorFinding[]> {
  try {
    const { words, reports } = await tryWalls();
    return [
      ...unconfinedFindings(use),
      probedFinding(words),
      ...reports.map((report) => isolationFinding(report, use)),
    ];
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const message = `what keeps them in could not be tried: ${reason}`;
    return [...unconfinedFindings(use), { level: missingLevel(use), about: "transforms", message }];
  }
}

async function probeHere(): Promise<ProbedIsolation> {
  const walls = await detectIsolation();
  return { words: describeIsolation(walls), reports: await probeIsolation(walls) };
}

function probedFinding(words: string): DoctorFinding {
  const message = `the walls were tried anew (${words}); the log of a running gateway tells those in force there`;
  return { level: "ok", about: "transforms", message };
}

function isolationFinding(
  { action: wall, holds, by, detail, isOptional = false }: IsolationReport,
  use: TransformUse,
): DoctorFinding {
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

function unconfinedFindings({ count, isolation }: TransformUse): readonly DoctorFinding[] {
  if (isolation === "process") return [];
  const message =
    "hooks.transforms.isolation is none: they run inside the gateway with all its rights, behind none of these walls";
  return [{ level: count === 0 ? "ok" : "warning", about: "transforms", message }];
}
