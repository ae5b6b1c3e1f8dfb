import { readFileSync } from "node:fs";
import { findPackageJSON } from "node:module";

/** The version in the package's own manifest, wherever the package was put. */
export const OWN_VERSION = readVersion();

function readVersion(): string {
  const file = findPackageJSON("..", import.meta.url);
  if (file === undefined) return "unknown";
  const { version = "unknown" } = JSON.parse(readFileSync(file, "utf8")) as { version?: string };
  return version;
}
