/**
 * Import direction of `src/`. Everything to adjust is in the four lists below; the rules are derived.
 * A name ending in `.ts` is a file of `src/`, any other name is a folder of it.
 * TypeScript 7 has no parser API for JavaScript, so the files are parsed by swc (`options.parser`).
 */

/** From bottom to top, as in docs/architecture.md: a module imports its own folder and the layers below it. */
const layers = [
  ["core"],
  ["http", "storage", "config"],
  ["auth", "transform"],
  ["presets"],
  ["mapping", "policy"],
  ["dispatch"],
  ["ingress"],
  ["index.ts"],
  ["api"],
  ["hosts/shared"],
  ["hosts/embedded", "hosts/openclaw"],
  ["cli", "testing"],
  ["openclaw-plugin.ts"],
];

/** Imports that are allowed besides, within a layer or upward: importer -> imported. Cycles stay refused. */
const exceptions = {};

/** Modules that may import less than all layers below them: importer -> the only ones imported. */
const narrowed = {
  "hosts/embedded": ["hosts/shared", "api", "index.ts", "transform", "auth", "config", "storage", "http", "core"],
};

/** Modules and packages that only some modules may import: imported -> importers. */
const reserved = {
  modules: { "storage/sqlite/engine": ["storage", "hosts"] },
  packages: { openclaw: ["hosts/openclaw"] },
};

const pathOf = (name) => (name.endsWith(".ts") ? `^src/${name.replace(".", "\\.")}$` : `^src/${name}/`);
const pathsOf = (names) => names.map(pathOf);
const known = layers.flat();

function allowedFor(name, depth) {
  const below = narrowed[name] ?? layers.slice(0, depth).flat();
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
