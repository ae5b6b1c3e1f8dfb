import { describeFailure } from "../../../transform/loader/describe-error.ts";
import { ModuleLoader } from "../../../transform/loader/module-loader.ts";
import type { TransformsRoot } from "../../../transform/loader/containment.ts";
import { PluginError } from "./error.ts";
import { PluginPackages } from "./packages.ts";
import type { PluginPackagesOptions } from "./packages.ts";

/**
 * Loads the modules of one plugin, each file of its folder once: what the class and the presets import
 * they share. A new one reads every file anew; packages are Node's and stay as they were.
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
   * The exports of a module by its real path. Rejects with a {@link PluginError} that tells file and line,
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
