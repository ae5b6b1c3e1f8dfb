/**
 * Bundles the program into a folder: `node scripts/bundle.ts <folder> [more entries, as below]`.
 *
 * The entries keep the paths that they have in `src`; what they share becomes chunks. Packages are part of the
 * bundle, so a start reads some 30 files instead of 1,800, and an installed package needs only jiti. Their licenses
 * are in `THIRD-PARTY-LICENSES.txt`.
 */
import http from "node:http";
import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { type OutputChunk, type Plugin, rolldown } from "rolldown";
import { minifySync } from "rolldown/utils";
import { buildConsolePage } from "./console-page.ts";
import { type LineMap, lineMap } from "./line-maps.ts";

/** The files that something loads by name: the program, the exports of the package, threads and sandbox processes. */
const ENTRIES = [
  "cli/main",
  "index",
  "openclaw-plugin",
  "testing/describe-preset",
  "storage/sqlite/store-module",
  "storage/sqlite/engine/writer-worker",
  "storage/sqlite/engine/checkpoint-worker",
  "config/cel-module",
  "storage/sqlite/engine/reader-worker",
  "hosts/embedded/state/sqlite-module",
  "hosts/openclaw/sqlite-state-module",
  "transform/sandbox/worker/sandbox-worker",
  "hosts/embedded/programs/confine-worker",
];

/**
 * A test imports `reveille/testing`, and runs in the vitest of its own project. What confines programs brings
 * programs of its own, and its owner installs it. The compiler in jiti is a third of what the bundle would weigh,
 * and only a transform or a plugin needs it.
 */
const EXTERNAL = [/^node:(?!http$)/u, "vitest", "@anthropic-ai/sandbox-runtime", "jiti"];

/** Large packages that share no chunk with our files, so that the names in them are not kept: see `shrink`. */
const OWN_CHUNK =
  /\/node_modules\/(?:typebox|pino|pino-pretty|chokidar|commander|@croct\/json5-parser|tapable|marked)\//u;

/** What `node:http` loads undici for. */
const OF_UNDICI: ReadonlySet<string> = new Set(["CloseEvent", "MessageEvent", "WebSocket"]);

const ROOT = resolve(import.meta.dirname, "..");
const SOURCES = join(ROOT, "src");
const BUNDLE_ROOT = "@bundle-root/";

const [folder = "dist", ...moreEntries] = process.argv.slice(2);
await bundle(resolve(folder));

async function bundle(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  const chunks = await writeChunks(folder);
  for (const { fileName } of chunks) {
    const file = join(folder, fileName);
    if (!hasLineMap(`${file}.map`)) shrink(file);
  }
  copyFileSync(join(SOURCES, "cli/reveille.cjs"), join(folder, "cli/reveille.cjs"));
  const page = await buildConsolePage(join(folder, "console/page"));
  const modules = [...chunks.flatMap(({ moduleIds }) => moduleIds), ...page];
  writeFileSync(join(folder, "THIRD-PARTY-LICENSES.txt"), licenses(modules));
}

async function writeChunks(dir: string): Promise<readonly OutputChunk[]> {
  const build = await rolldown({
    input: Object.fromEntries([...ENTRIES, ...moreEntries].map((entry) => [entry, join(SOURCES, `${entry}.ts`)])),
    platform: "node",
    external: EXTERNAL,
    plugins: [keepAddresses(), httpAlone(), noValidator(), plainMail()],
  });
  try {
    const { output } = await build.write({
      dir,
      format: "esm",
      entryFileNames: "[name].js",
      chunkFileNames: "chunks/[name]-[hash].js",
      codeSplitting: { groups: [{ debugName: "packages", test: OWN_CHUNK, name: packageName }] },
      sourcemap: true,
      sourcemapExcludeSources: true,
      // Without comments and white space; the names of functions stay, and stack traces are translated.
      minify: {
        compress: { keepNames: { function: true, class: true } },
        mangle: { keepNames: true },
        codegen: { removeWhitespace: true },
      },
      plugins: [escapeWideCharacters()],
    });
    return output.filter((file) => file.type === "chunk");
  } finally {
    await build.close();
  }
}

/** Makes the map of a chunk one of lines; a chunk of packages alone needs none, and has none then. */
function hasLineMap(file: string): boolean {
  if (!existsSync(file)) return false;
  const map = lineMap(JSON.parse(readFileSync(file, "utf8")) as LineMap);
  if (map.sources.length === 0) rmSync(file);
  else writeFileSync(file, JSON.stringify(map));
  return map.sources.length > 0;
}

/** No one reads the names of functions in packages; those of classes are names of errors, too. */
function shrink(file: string): void {
  const keepNames = { class: true, function: false };
  const options = { module: true, compress: { keepNames }, mangle: { keepNames }, codegen: { removeWhitespace: true } };
  const { code, errors } = minifySync(file, readFileSync(file, "utf8"), options);
  if (errors.length > 0) throw new Error(`${file} cannot be shrunk: ${errors[0]!.message}`);
  writeFileSync(file, code);
}

/*
 * The hooks of the plugins have filters: without one, each is called for all of some 1,800 modules, which costs a
 * quarter of the time.
 */

/** A module finds its neighbors by `import.meta.url`, so this stays the address that it has in `src`. */
function keepAddresses(): Plugin {
  return {
    name: "keep-addresses",
    transform: {
      filter: { code: "import.meta.url" },
      handler(code, id) {
        if (!id.startsWith(SOURCES)) return null;
        const path = relative(SOURCES, id).replaceAll(sep, "/").replace(/\.ts$/u, ".js");
        const address = `new URL(${JSON.stringify(BUNDLE_ROOT + path)}, import.meta.url).href`;
        // No line moves, so the source map of the text before is right.
        return { code: code.replaceAll("import.meta.url", address), map: null };
      },
    },
    renderChunk(code, { fileName }) {
      const toRoot = relative(dirname(fileName), ".").replaceAll(sep, "/") || ".";
      return { code: code.replaceAll(BUNDLE_ROOT, `${toRoot}/`), map: null };
    },
  };
}

/**
 * An import of `node:http` reads all that it exports, WebSocket among it, and so loads undici: 12 MiB. Here the module
 * is asked for what the bundle takes of it.
 */
function httpAlone(): Plugin {
  const id = "\0node:http";
  return {
    name: "http-alone",
    resolveId: { filter: { id: /^(?:node:)?http$/u }, handler: () => id },
    load: {
      filter: { id: /^\0node:http$/u },
      handler() {
        const names = Object.keys(http).filter((name) => !OF_UNDICI.has(name));
        return `const http = process.getBuiltinModule("node:http");
export default http;
export const { ${names.join(", ")} } = http;`;
      },
    },
  };
}

/** The server of MCP has a validator of its own, and so none of the library's: neither Ajv nor the smaller one. */
function noValidator(): Plugin {
  return {
    name: "no-validator",
    resolveId: { filter: { id: /^@modelcontextprotocol\/server\/_shims$/u }, handler: () => "\0mcp-shims" },
    load: {
      filter: { id: /^\0mcp-shims$/u },
      handler: () =>
        'import process from "node:process"; export class DefaultJsonSchemaValidator {} export { process };',
    },
  };
}

/** A mail of ours is one text: it needs no types of attachments, and its server is in the configuration. */
function plainMail(): Plugin {
  const tables: readonly (readonly [end: string, text: string])[] = [
    ["/nodemailer/dist/esm/well-known/services.js", "export const services = {};"],
    [
      "/nodemailer/dist/esm/mime-funcs/mime-types.js",
      'export const detectMimeType = () => "application/octet-stream", detectExtension = () => "bin";',
    ],
  ];
  return {
    name: "plain-mail",
    load: {
      filter: { id: /nodemailer.dist.esm/u },
      handler: (id) => tables.find(([end]) => id.replaceAll(sep, "/").endsWith(end))?.[1] ?? null,
    },
  };
}

/** V8 keeps the text of a module with one byte for each character, or with two when one of them needs two. */
function escapeWideCharacters(): Plugin {
  const escape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return {
    name: "escape-wide-characters",
    // The hooks before this one see the text before it is minified, which writes the characters as they are.
    generateBundle(_options, files) {
      for (const file of Object.values(files)) {
        if (file.type === "chunk") file.code = file.code.replaceAll(/[^\0-\u00ff]/g, escape);
      }
    },
  };
}

/** The license of each package whose code is in the chunks. */
function licenses(modules: readonly string[]): string {
  const folders = new Set(modules.map(packageFolder));
  const all = [...folders].filter((folder) => folder !== undefined).map(licenseOf);
  const parts = Array.from(
    Map.groupBy(all, ({ text }) => text),
    ([text, packages]) => {
      const names = packages.map(({ name }) => name).toSorted();
      return `${names.join("\n")}\n${"-".repeat(72)}\n${text}`;
    },
  );
  return `${parts.toSorted().join("\n\n")}\n`;
}

function packageName(moduleId: string): string | null {
  return packageFolder(moduleId)?.split("/").at(-1) ?? null;
}

function packageFolder(moduleId: string): string | undefined {
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/u.exec(moduleId.replaceAll(sep, "/"))?.[0];
}

function licenseOf(folder: string): { readonly name: string; readonly text: string } {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    readonly name: string;
    readonly version: string;
    readonly license?: string;
  };
  const file = ["LICENSE", "LICENSE.md", "LICENSE.txt", "license", "license.md", "LICENCE"]
    .map((candidate) => join(folder, candidate))
    .find((candidate) => existsSync(candidate));
  const text = file === undefined ? `License: ${license ?? "not stated"}` : readFileSync(file, "utf8").trim();
  return { name: `${name} ${version}`, text };
}
