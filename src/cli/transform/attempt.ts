/** Loads a transform as it is now, and tries it once. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigError } from "../../config/errors.ts";
import { loadTransforms } from "../../transform/load.ts";
import type { TransformSet } from "../../transform/set.ts";
import { CliError } from "../errors.ts";
import type { CliIo } from "../io.ts";
import { TransformConsole } from "./console.ts";
import type { ConsoleLine } from "./console.ts";
import { readTransformConfiguration } from "./configuration.ts";
import type { TransformConfiguration } from "./configuration.ts";
import { readTransformInput, STANDARD_INPUT } from "./input.ts";
import type { InputOptions, TransformInput } from "./input.ts";
import { chooseMapping, isOf } from "./configuration.ts";
import type { ChosenMapping } from "./configuration.ts";
import { findTransformModule } from "./configuration.ts";
import type { TransformModule } from "./configuration.ts";
import { tryTransform } from "./trial.ts";
import type { Trial } from "./trial.ts";

export interface AttemptOptions extends InputOptions {
  readonly mapping?: string;
  readonly export?: string;
}

/** An attempt and its result. */
export interface TransformAttempt {
  readonly module: TransformModule;
  readonly chosen: ChosenMapping;
  readonly input: TransformInput;
  /** True when the mapping has the module in the configuration. */
  readonly isConfigured: boolean;
  readonly isolation: "process" | "none";
  readonly console: readonly ConsoleLine[];
  /** Of the process that ran it. */
  readonly memoryBytes: number | undefined;
  readonly outcome: { readonly ok: true; readonly trial: Trial } | { readonly ok: false; readonly loadFailure: string };
}

/** Tries a module over and over; holds what has to be ended when the command is interrupted. */
export class TransformAttempts {
  readonly #module: string;
  readonly #options: AttemptOptions;
  readonly #io: CliIo;
  readonly #workDir = mkdtempSync(join(tmpdir(), "reveille-transform-"));
  /** Of an input that cannot be read twice, or does not change. */
  #input: TransformInput | undefined;
  #open: TransformSet | undefined;
  readonly #closing = new AbortController();

  constructor(module: string, options: AttemptOptions, io: CliIo) {
    this.#module = module;
    this.#options = options;
    this.#io = io;
  }

  /** Rejects with a `ConfigError` or {@link CliError} when it does not come to loading the module. */
  async run(): Promise<TransformAttempt> {
    const written = new TransformConsole();
    const configuration = await this.readConfiguration(written);
    try {
      return await this.#tryWith(configuration, written);
    } finally {
      await configuration.close();
    }
  }

  async #tryWith(configuration: TransformConfiguration, written: TransformConsole): Promise<TransformAttempt> {
    const { config, presets } = configuration;
    const module = findTransformModule(this.#module, {
      transformsDir: config.transformsDir,
      program: this.#io.gateway.program,
    });
    const input = await this.#read(configuration);
    const chosen = chooseMapping(config, module, {
      mappingId: this.#options.mapping,
      exportName: this.#options.export,
      deliveredTo: input.mappingId,
      preset: presets.get(this.#options.preset ?? ""),
    });
    const tried = { configuration, chosen, input, written };
    const { isolation } = config.transforms;
    const attempt = isolation === "none" ? await written.capture(() => this.#try(tried)) : await this.#try(tried);
    const isConfigured = config.mappings.some((each) => each.id === chosen.mapping.id && isOf(each, module, config));
    return { module, chosen, input, isConfigured, isolation, console: written.lines, ...attempt };
  }

  /** The configuration as it is now, for the caller to close. Rejects with a `ConfigError`. */
  readConfiguration({ logger } = new TransformConsole()): Promise<TransformConfiguration> {
    return readTransformConfiguration(this.#options, { io: this.#io, logger });
  }

  /** Ends whatever runs for an attempt that is in progress, and removes what was written for it. */
  async close(): Promise<void> {
    this.#closing.abort(new CliError("The transform was not called: the command was interrupted."));
    await this.#open?.close();
    try {
      rmSync(this.#workDir, { recursive: true, force: true });
    } catch {
      // It is being written to by an attempt that is abandoned; it lies in the folder for temporary files.
    }
  }

  async #read({ presets }: TransformConfiguration): Promise<TransformInput> {
    const input = this.#input ?? (await readTransformInput(this.#options, presets, this.#io));
    const isRepeatable = this.#options.delivery === undefined && input.source !== STANDARD_INPUT;
    if (!isRepeatable) this.#input = input;
    return input;
  }

  async #try({
    configuration,
    chosen,
    input,
    written,
  }: {
    readonly configuration: TransformConfiguration;
    readonly chosen: ChosenMapping;
    readonly input: TransformInput;
    readonly written: TransformConsole;
  }): Promise<Pick<TransformAttempt, "outcome" | "memoryBytes">> {
    const { config, host } = configuration;
    const { logger } = written;
    // One process, so that the second call meets the one that the first has warmed.
    const transforms = { ...config.transforms, workers: 1 };
    const { transformsDir } = config;
    const { signal } = this.#closing;
    try {
      this.#open = await loadTransforms(
        { enabled: true, mappings: [chosen.mapping], transformsDir, transforms },
        { configDir: host.paths.configDir, workDir: this.#workDir, logger, signal },
      );
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ConfigError)) throw error;
      const loadFailure = error.issues.map(({ message }) => message).join("\n");
      return { memoryBytes: undefined, outcome: { ok: false, loadFailure } };
    }
    const set = this.#open;
    try {
      const call = set.get(chosen.mapping.id);
      signal.throwIfAborted();
      if (!call) throw new CliError("The transform was not loaded.");
      const trial = await tryTransform({
        ...configuration,
        chosen,
        input,
        call,
        onTried: () => {
          written.mute();
        },
      });
      return { memoryBytes: set.figures().rssBytes, outcome: { ok: true, trial } };
    } finally {
      this.#open = undefined;
      await set.close();
    }
  }
}
