import { readFileSync } from "node:fs";
import { satisfies } from "semver";
import type { DoctorFinding } from "./finding.ts";

/** Holds a version of Node to what the package asks for. */
export function nodeFinding(version: string): DoctorFinding {
  const range = neededRange();
  const isFit = satisfies(version, range);
  const message = isFit ? version : `${version} is not one of ${range}, which this version of Reveille needs`;
  return { level: isFit ? "ok" : "problem", about: "node", message };
}

/** `engines.node` of the package, which lies beside its `src` or `dist`. */
function neededRange(): string {
  const text = readFileSync(new URL("../../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { readonly engines: { readonly node: string } }).engines.node;
}
