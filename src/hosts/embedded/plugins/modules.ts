import { readFileSync } from "node:fs";
import { createRequire, isBuiltin } from "node:module";
import { dirname, extname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { ModuleRefusedError } from "../../../transform/errors.ts";
import { jitiFor } from "../../../transform/loader/compile-module.ts";
import { isInside, type TransformsRoot } from "../../../transform/loader/containment.ts";
import { describeFailure } from "../../../transform/loader/describe-error.ts";
import { ModuleLoader } from "../../../transform/loader/module-loader.ts";
import { PluginError } from "../errors.ts";

/** The name under which a plugin imports this package, and then gets the gateway's own copy of it. */
const OWN_NAME = "reveille";

/** A package that was replaced on disk after this process had loaded it. */
export interface ReplacedPackage {
  readonly name: string;
  readonly loaded: string;
  readonly installed: string;
}

export interface PluginPackagesOptions {
  /** Real path of the plugin's folder. */
  readonly folder: string;
  /** The exports of this package. */
  readonly publicApi: object;
  readonly onReplaced: (replaced: ReplacedPackage) => void;
}

interface PackageFile {
  readonly folder: string;
  readonly name: string;
  readonly version: string;
  readonly usesReveille: boolean;
}

const MAX_REMEMBERED = 10_000;
/** By folder, the version of each package that was loaded; Node keeps it until the process ends. */
const loadedVersions = new Map<string, string>();

/**
 * The packages that the modules of a plugin get from this process, by what they write in `import`: this
 * package itself, and whatever Node finds from the plugin's folder, in its own `node_modules` or in one
 * above. Node loads these, once for the whole process.
 *
 * Not among them are the plugin's own files, and packages in its folder that build on this one or are
 * written in TypeScript: the loader has those. `get` throws a `ModuleRefusedError` for a package that
 * could only get another copy of this one.
 */
class PluginPackages extends Map<string, object> {
  readonly #options: PluginPackagesOptions;
  readonly #require: NodeJS.Require;

  constructor(options: PluginPackagesOptions) {
    super([[OWN_NAME, options.publicApi]]);
    this.#options = options;
    this.#require = createRequire(join(options.folder, "plugin.json"));
  }

  override get(specifier: string): object | undefined {
    if (specifier.startsWith(`${OWN_NAME}/`)) {
      throw new ModuleRefusedError(
        `cannot import ${JSON.stringify(specifier)}: a plugin gets "${OWN_NAME}" alone, and everything else of that ` +
          `package would be another copy; "${OWN_NAME}/testing" is for tests`,
      );
    }
    const own = super.get(specifier);
    if (own !== undefined || !isPackage(specifier)) return own;
    const file = this.#locate(specifier);
    if (file === undefined || this.#isOwnFile(file)) return undefined;
    const found = packageOf(file);
    if (found !== undefined && this.#isForLoader(specifier, file, found)) return undefined;
    if (found !== undefined) this.#recordVersion(found);
    return this.#load(specifier, file);
  }

  /** As `require` finds it, or as `import` does when the package is for `import` alone. */
  #locate(specifier: string): string | undefined {
    try {
      return this.#require.resolve(specifier);
    } catch {
      // Not there, or not for require.
    }
    try {
      const jiti = jitiFor(join(this.#options.folder, "plugin.json"));
      return fileURLToPath(jiti.esmResolve(specifier, { conditions: ["node", "import"] }));
    } catch {
      return undefined;
    }
  }

  #isOwnFile(file: string): boolean {
    const { folder } = this.#options;
    return isInside(folder, file) && !relative(folder, file).split(sep).includes("node_modules");
  }

  #isForLoader(specifier: string, file: string, { usesReveille }: PackageFile): boolean {
    if (isInside(this.#options.folder, file)) return usesReveille || /^\.[cm]?ts$/.test(extname(file));
    if (!usesReveille) return false;
    throw new ModuleRefusedError(
      `cannot import ${JSON.stringify(specifier)}: it builds on "${OWN_NAME}" and lies outside of the plugin, so it ` +
        "would get another copy; ship it within the plugin (bundleDependencies in its package.json)",
    );
  }

  #recordVersion({ folder, name, version }: PackageFile): void {
    const loaded = loadedVersions.get(folder);
    if (loaded !== undefined && loaded !== version) this.#options.onReplaced({ name, loaded, installed: version });
    if (loaded === undefined && loadedVersions.size < MAX_REMEMBERED) loadedVersions.set(folder, version);
  }

  #load(specifier: string, file: string): object {
    try {
      return this.#require(file) as object;
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ERR_REQUIRE_ASYNC_MODULE")) throw error;
      throw new ModuleRefusedError(
        `cannot import ${JSON.stringify(specifier)}: the package has a top-level await, which plugins cannot wait for`,
      );
    }
  }
}

/** Not a path, a URL, one of the package's own `#imports` or a builtin of Node. */
function isPackage(specifier: string): boolean {
  return /^[^./#:][^:]*$/.test(specifier) && !isBuiltin(specifier);
}

/** The nearest package.json with a name; those that only say how files are to be read have none. */
function packageOf(file: string): PackageFile | undefined {
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    const { name, version, dependencies, peerDependencies } = readPackage(folder);
    if (typeof name !== "string") continue;
    const usesReveille = [dependencies, peerDependencies].some(
      (names) => typeof names === "object" && names !== null && OWN_NAME in names,
    );
    return { folder, name, version: String(version), usesReveille };
  }
  return undefined;
}

function readPackage(folder: string): Readonly<Record<string, unknown>> {
  try {
    const read: unknown = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    return typeof read === "object" && read !== null ? { ...read } : {};
  } catch {
    return {};
  }
}

/**
 * Loads the modules of one plugin, each file of its folder once: what the class and the presets import
 * they share. A new one reads every file again; packages are Node's and stay as they were.
 *
 * The plugin's own files are confined to its folder by their real paths, as a guard against mistakes: a
 * plugin runs with all rights of the gateway.
 */
export class PluginModules {
  readonly #root: TransformsRoot;
  readonly #loader: ModuleLoader;

  constructor(options: PluginPackagesOptions) {
    this.#root = { path: options.folder, name: options.folder };
    this.#loader = new ModuleLoader(this.#root, { provided: new PluginPackages(options) });
  }

  /**
   * The exports of a module by its real path. Rejects with a {@link PluginError} that names file and line,
   * and the column where the text is at fault.
   */
  async load(file: string): Promise<unknown> {
    try {
      return await this.#loader.load(file);
    } catch (error) {
      throw new PluginError(describeFailure(error, { entry: file, root: this.#root }), { cause: error });
    }
  }
}
