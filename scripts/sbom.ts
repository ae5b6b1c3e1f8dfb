/**
 * Prints what the published package holds, as CycloneDX: `node scripts/sbom.ts`, after `npm run build`.
 *
 * `npm sbom` knows what is installed. What the bundle took of it is in `THIRD-PARTY-LICENSES.txt`: development
 * dependencies by package.json, and parts of the product all the same.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

interface Bom {
  readonly components: readonly { readonly name: string; readonly version: string }[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[];
  readonly metadata: { readonly component: { readonly "bom-ref": string } };
}

const root = join(import.meta.dirname, "..");

function shipped(): ReadonlySet<string> {
  const licenses = readFileSync(join(root, "dist/THIRD-PARTY-LICENSES.txt"), "utf8");
  const heads = Array.from(licenses.matchAll(/^((?:\S+ \S+\n)+)-{72}$/gmu), ([, names = ""]) => names.trim());
  const bundled = heads.flatMap((names) => names.split("\n")).map((name) => name.replace(" ", "@"));
  const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  const beside = Object.keys(dependencies).map((name) => `${name}@${versionOf(name)}`);
  return new Set([...bundled, ...beside]);
}

function versionOf(name: string): string {
  const text = readFileSync(join(root, "node_modules", name, "package.json"), "utf8");
  return (JSON.parse(text) as { readonly version: string }).version;
}

/** The components that are shipped; each is a part of the package itself, whatever else brought it. */
function shippedPart(bom: Bom, names: ReadonlySet<string>): Bom {
  const components = bom.components.filter(({ name, version }) => names.has(`${name}@${version}`));
  const missing = [...names].filter((each) => !components.some(({ name, version }) => `${name}@${version}` === each));
  if (missing.length > 0) throw new Error(`npm sbom does not know ${missing.join(", ")}`);
  const own = bom.metadata.component["bom-ref"];
  const dependsOn = components.map(({ name, version }) => `${name}@${version}`);
  return { ...bom, components, dependencies: [{ ref: own, dependsOn }] };
}

const text = execFileSync("npm", ["sbom", "--sbom-format", "cyclonedx"], { cwd: root, maxBuffer: 67_108_864 });
console.log(JSON.stringify(shippedPart(JSON.parse(text.toString()) as Bom, shipped()), null, 2));
