/**
 * Import direction of `src/`. Everything to adjust is in the four lists below; the rules are derived.
 * A name ending in `.ts` is a file of `src/`, any other name is a folder of it.
 * TypeScript 7 has no parser API for JavaScript, so the files are parsed by swc (`options.parser`).
 */

/** From top to bottom: a module imports its own folder and the layers below it. */
const layers = [
  ["openclaw-plugin.ts"],
  ["cli", "testing"],
  ["embedded", "openclaw", "console"],
  ["api"],
  ["index.ts"],
  ["plugin.ts"],
  ["ingress.ts"],
  ["operator"],
  ["pipeline.ts"],
  ["stages"],
  ["generations.ts"],
  ["generation.ts"],
  ["dispatch"],
  ["hooks.ts"],
  ["mapping"],
  ["policy", "presets"],
  ["transform"],
  ["auth", "boundary"],
  ["http"],
  ["store"],
  ["config"],
  ["lifecycle"],
  ["guard-hook.ts", "suppression.ts"],
  ["delivery.ts"],
  ["host.ts"],
  ["sqlite"],
  ["errors.ts"],
];

/** Imports that are allowed besides, within a layer or upward: importer -> imported. Cycles stay refused. */
const exceptions = {};

/** Modules that may import less than all layers below them: importer -> the only ones imported. */
const narrowed = {
  embedded: [
    "api",
    "index.ts",
    "lifecycle",
    "guard-hook.ts",
    "suppression.ts",
    "transform",
    "auth",
    "http",
    "store",
    "config",
    "delivery.ts",
    "host.ts",
    "sqlite",
    "errors.ts",
  ],
};

/** What only some modules may import: imported (a name as above, or a package) -> importers. */
const reserved = {
  modules: { sqlite: ["store", "embedded", "openclaw"] },
  packages: { openclaw: ["openclaw"] },
};

const pathOf = (name) => (name.endsWith(".ts") ? `^src/${name.replace(".", "\\.")}$` : `^src/${name}/`);
const pathsOf = (names) => names.map(pathOf);
const known = layers.flat();

function allowedFor(name, depth) {
  const below = narrowed[name] ?? layers.slice(depth + 1).flat();
  return [name, ...below, ...(exceptions[name] ?? [])];
}

const directions = layers.flatMap((names, depth) =>
  names.map((name) => ({
    name: `direction-of-${name}`,
    comment: `src/${name} may import only: ${allowedFor(name, depth).join(", ")}`,
    severity: "error",
    from: { path: pathOf(name) },
    to: { path: "^src/", pathNot: pathsOf(allowedFor(name, depth)) },
  })),
);

const reservations = [
  ...Object.entries(reserved.modules).map(([name, importers]) => ({
    name: `reserved-${name}`,
    comment: `src/${name} may be imported only by: ${importers.join(", ")}`,
    severity: "error",
    from: { path: "^src/", pathNot: pathsOf([name, ...importers]) },
    to: { path: pathOf(name) },
  })),
  ...Object.entries(reserved.packages).map(([name, importers]) => ({
    name: `reserved-package-${name}`,
    comment: `The package ${name} may be imported only by: ${importers.join(", ")}`,
    severity: "error",
    from: { path: "^src/", pathNot: pathsOf(importers) },
    to: { path: [`^${name}(/|$)`, `(^|/)node_modules/${name}/`] },
  })),
];

export default {
  forbidden: [
    {
      name: "no-cycle",
      comment: "No module imports itself, by whatever way, types included.",
      severity: "error",
      from: { path: "^src/" },
      to: { circular: true },
    },
    ...directions,
    ...reservations,
    {
      name: "unknown-importer",
      comment: "Each module of src/ has its place in the list of layers.",
      severity: "error",
      from: { path: "^src/", pathNot: pathsOf(known) },
      to: {},
    },
    {
      name: "unknown-imported",
      comment: "Each module of src/ has its place in the list of layers.",
      severity: "error",
      from: {},
      to: { path: "^src/", pathNot: pathsOf(known) },
    },
    {
      name: "inside-src",
      comment: "What is shipped does not import what is not.",
      severity: "error",
      from: { path: "^src/" },
      to: { path: "^(test|bench|scripts|dist)/" },
    },
    {
      name: "resolvable",
      comment: "A relative import names a file that exists.",
      severity: "error",
      from: { path: "^src/" },
      to: { path: "^[.]", couldNotResolve: true },
    },
  ],
  options: {
    parser: "swc",
    doNotFollow: { path: "node_modules" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "node", "default", "types"],
      extensions: [".ts", ".js"],
    },
  },
};
