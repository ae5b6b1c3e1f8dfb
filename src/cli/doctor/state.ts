import { mkdtempSync, rmdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { DoctorFinding } from "./finding.ts";

/** Read, write or search for anyone but the owner. */
const OTHERS_MODE = 0o077;

/** Whether a gateway can write its state to a folder, and nobody else can look at it. */
export function stateFinding(folder: string): DoctorFinding {
  const stats = statSync(folder, { throwIfNoEntry: false });
  if (!stats) {
    const parent = nearestFolder(folder);
    return isWritable(parent)
      ? stateFolderFinding("ok", `${folder} is made at the first start`)
      : stateFolderFinding("problem", `${folder} cannot be made: ${parent} cannot be written to`);
  }
  if (!stats.isDirectory()) return stateFolderFinding("problem", `${folder} is not a folder`);
  if (!isWritable(folder)) return stateFolderFinding("problem", `${folder} cannot be written to`);
  if (process.platform !== "win32" && (stats.mode & OTHERS_MODE) !== 0) {
    return stateFolderFinding(
      "warning",
      `others than its owner may use ${folder}, which holds what was sent; chmod it to 700`,
    );
  }
  return stateFolderFinding("ok", `${folder} can be written to, by its owner alone`);
}

function stateFolderFinding(level: DoctorFinding["level"], message: string): DoctorFinding {
  return { level, about: "state folder", message };
}

function nearestFolder(missing: string): string {
  const parent = dirname(missing);
  return statSync(parent, { throwIfNoEntry: false }) || parent === missing ? parent : nearestFolder(parent);
}

/** Tried, since what a mode allows is not all that it takes: read-only file systems, quotas, foreign owners. */
function isWritable(folder: string): boolean {
  try {
    rmdirSync(mkdtempSync(join(folder, ".reveille-doctor-")));
    return true;
  } catch {
    return false;
  }
}
