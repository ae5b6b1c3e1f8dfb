/**
 * Checks the import direction of `src/`: `node scripts/check-imports.ts`, in the folder above it. Prints each
 * import that breaks a rule, and exits 1 if there is one. Imports of types count as well. Everything to
 * adjust is in the lists below; a name that ends in `.ts` is a file of `src/`, any other name a folder of it.
 */
import { existsSync, globSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { parseSync } from "rolldown/utils";

/** From bottom to top, as in docs/extend/architecture.md: a module imports its own folder and the layers below it. */
const layers: readonly (readonly string[])[] = [
  ["core"],
  ["http", "storage", "config"],
  ["auth", "transform"],
  ["presets"],
  ["mapping", "policy"],
  ["dispatch"],
  ["ingress"],
  ["index.ts"],
  ["telemetry"],
  ["api"],
  ["console"],
  ["hosts/shared"],
  ["hosts/embedded", "hosts/openclaw"],
  ["cli", "testing"],
  ["openclaw-plugin.ts"],
];

/** Modules that may import less than all layers below them: importer -> the only ones imported. */
const narrowed: Readonly<Record<string, readonly string[]>> = {
  "hosts/embedded": [
    "hosts/shared",
    "console",
    "api",
    "telemetry",
    "index.ts",
    "transform",
    "auth",
    "config",
    "storage",
    "http",
    "core",
  ],
};

/** Modules and packages that only some modules may import: imported -> importers. */
const reservedModules: Readonly<Record<string, readonly string[]>> = {
  "storage/sqlite/engine": ["storage", "hosts"],
};
const reservedPackages: Readonly<Record<string, readonly string[]>> = {
  openclaw: ["hosts/openclaw"],
  pg: ["storage/postgres"],
};

interface Import {
  readonly from: string;
  /** A path from the root of the repository, or what names a package. */
  readonly to: string;
  readonly isRelative: boolean;
}

const isIn = (path: string, name: string): boolean => path === `src/${name}` || path.startsWith(`src/${name}/`);
const isInAny = (path: string, names: readonly string[]): boolean => names.some((name) => isIn(path, name));

function importsOf(from: string): Import[] {
  const text = readFileSync(from, "utf8");
  const { module, errors } = parseSync(from, text);
  if (errors.length > 0) throw new Error(`${from} cannot be parsed: ${errors[0]!.message}`);
  const specifiers = [
    ...module.staticImports.map(({ moduleRequest }) => moduleRequest.value),
    ...module.staticExports.flatMap(({ entries }) => entries.flatMap((entry) => entry.moduleRequest?.value ?? [])),
    ...module.dynamicImports.flatMap(({ moduleRequest: { start, end } }) =>
      // Only a text says what is imported.
      (/^["'](.*)["']$/.exec(text.slice(start, end)) ?? []).slice(1),
    ),
  ];
  return [...new Set(specifiers)].map((specifier) => {
    const isRelative = specifier.startsWith(".");
    return { from, to: isRelative ? posix.join(posix.dirname(from), specifier) : specifier, isRelative };
  });
}

/** The rules that an import breaks, each with its reason. */
function* brokenRules({ from, to, isRelative }: Import): Generator<readonly [rule: string, reason: string]> {
  const depth = layers.findIndex((names) => isInAny(from, names));
  const place = layers[depth]?.find((name) => isIn(from, name));
  if (place === undefined) yield ["unknown-importer", "each module of src has a place in the list of layers"];
  if (!isRelative) {
    for (const [name, importers] of Object.entries(reservedPackages)) {
      const isReserved = to === name || to.startsWith(`${name}/`);
      if (isReserved && !isInAny(from, importers)) {
        yield [`reserved-package-${name}`, `only these may import the package: ${importers.join(", ")}`];
      }
    }
    return;
  }
  if (!existsSync(to)) yield ["resolvable", "a relative import names a file that exists"];
  if (to === "package.json") return;
  if (!to.startsWith("src/")) {
    yield ["inside-src", "what is shipped does not import what is not"];
    return;
  }
  if (!isInAny(to, layers.flat())) {
    yield ["unknown-imported", "each module of src has a place in the list of layers"];
  } else if (place !== undefined) {
    const allowed = [place, ...(narrowed[place] ?? layers.slice(0, depth).flat())];
    if (!isInAny(to, allowed)) yield [`direction-of-${place}`, `src/${place} may import only: ${allowed.join(", ")}`];
  }
  for (const [name, importers] of Object.entries(reservedModules)) {
    if (isIn(to, name) && !isInAny(from, [name, ...importers])) {
      yield [`reserved-${name}`, `only these may import src/${name}: ${importers.join(", ")}`];
    }
  }
}

/** A path from a module back to itself for each import that closes one. */
function cyclesAmong(imports: readonly Import[]): string[][] {
  const importsFrom = Map.groupBy(imports, ({ from }) => from);
  const cycles: string[][] = [];
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (module: string): void => {
    if (done.has(module)) return;
    if (path.includes(module)) {
      cycles.push([...path.slice(path.indexOf(module)), module]);
      return;
    }
    path.push(module);
    for (const { to } of importsFrom.get(module) ?? []) visit(to);
    path.pop();
    done.add(module);
  };
  for (const module of importsFrom.keys()) visit(module);
  return cycles;
}

const files = globSync("src/**/*.{ts,tsx}")
  .map((path) => path.replaceAll("\\", "/"))
  .toSorted();
const imports = files.flatMap(importsOf);
const problems = [
  ...imports.flatMap((each) =>
    [...brokenRules(each)].map(([rule, reason]) => `${rule}: ${each.from} -> ${each.to}\n  ${reason}`),
  ),
  ...cyclesAmong(imports).map((cycle) => `no-cycle: ${cycle.join(" -> ")}\n  no module imports itself, types included`),
];
if (problems.length > 0) {
  console.error(problems.join("\n"));
  process.exitCode = 1;
} else {
  console.log(`${imports.length} imports of ${files.length} modules keep to the direction.`);
}
