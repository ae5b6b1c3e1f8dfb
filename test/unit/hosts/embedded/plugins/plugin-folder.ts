import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { ConfigError } from "../../../../../src/config/errors.ts";
import type { PluginEntryConfig } from "../../../../../src/hosts/embedded/config/file.ts";
import { loadPlugins } from "../../../../../src/hosts/embedded/plugins/load.ts";
import type { LoadedPlugin } from "../../../../../src/hosts/embedded/plugins/set-aside.ts";
import * as publicApi from "../../../../../src/index.ts";
import { recordingLogger } from "../server/recording-logger.ts";

/** A class that keeps what it was given. */
export const GOOD_CLASS =
  "export default class { constructor(config) { this.config = config; } apply(host) { this.host = host; } }";

/** The definition of a preset as source text. */
export const presetText = (name: string): string => `export default {
  name: "${name}",
  title: "${name}",
  documentation: "https://example.com/webhooks",
  auth: { scheme: "token" },
  event: "body:type",
  samples: { one: { payload: {} } },
  setup: ["Paste {url}."],
};`;

export type Entries = Readonly<Record<string, Partial<PluginEntryConfig>>>;

/** A folder with plugins for one test, and the loading of them; removed when the test ends. */
export class PluginFolder implements Disposable {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), "reveille-plugins-")));
  readonly logger = recordingLogger();

  /** Writes a file below the folder, and gives its path. */
  write(file: string, text: string): string {
    const path = join(this.path, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  }

  /** Writes a plugin's folder, and gives its path; a manifest that is an object gets what is required. */
  plugin(name: string, manifest: object | string, files: Readonly<Record<string, string>> = {}): string {
    const written = { pluginApi: "1", entry: "index.js", id: name, ...(typeof manifest === "string" ? {} : manifest) };
    this.write(join(name, "plugin.json"), typeof manifest === "string" ? manifest : JSON.stringify(written, null, 2));
    const all =
      typeof manifest === "object" && written.entry === "index.js" ? { "index.js": GOOD_CLASS, ...files } : files;
    for (const [file, text] of Object.entries(all)) this.write(join(name, file), text);
    return join(this.path, name);
  }

  async load(paths: readonly string[], entries: Entries = {}): Promise<readonly LoadedPlugin[]> {
    const settings = Object.entries(entries).map(
      ([id, entry]) => [id, { enabled: true, config: undefined, ...entry }] as const,
    );
    return await loadPlugins({ load: paths, entries: new Map(settings) }, { logger: this.logger, publicApi });
  }

  /** What a ConfigError says against the plugins, a line for each thing, with `~` for the folder. */
  async refusal(paths: readonly string[], entries: Entries = {}): Promise<string[]> {
    const error = await this.load(paths, entries).then(
      () => expect.fail("The plugins were not refused."),
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(ConfigError);
    return (error as ConfigError).message.replaceAll(this.path, "~").split("\n");
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
