import { join } from "node:path";
import { configLines, ConfigError } from "./config/config-error.ts";
import { prepareGeneration } from "./generation.ts";
import type { Generation, GenerationOptions } from "./generation.ts";
import type { IngressHooks } from "./hooks.ts";
import type { ConfigSnapshot, GatewayHost } from "./host.ts";
import { sweepSnapshots } from "./transform/folder/folder-snapshot.ts";
import { watchFolder } from "./transform/folder/watch-folder.ts";
import type { FolderWatch } from "./transform/folder/watch-folder.ts";
import type { TransformSet } from "./transform/transform-set.ts";

/** What a generation was prepared from, to prepare it again when a transform has changed. */
interface Origin {
  readonly snapshot: Omit<ConfigSnapshot, "onCommit">;
  readonly hooks: IngressHooks;
}

/** A generation, and how many changes of the transforms folder had been seen when it was begun. */
interface Prepared {
  readonly generation: Generation;
  readonly origin: Origin;
  readonly changes: number;
}

export interface GenerationsOptions {
  readonly host: GatewayHost;
  readonly keys: () => Promise<GenerationOptions["keys"]>;
  /** Called when another generation is the current one. */
  readonly onCommit: () => void;
}

/**
 * The generation in force, and how the next one takes its place: with a configuration, or when a file of
 * the transforms folder has changed.
 *
 * A request finishes on the generation it began with: that one's transforms end when its last request
 * has. A generation that is refused, or prepared and never committed, leaves nothing behind.
 */
export class Generations {
  readonly #options: GenerationsOptions;
  readonly #workDir: string;
  #inForce: Prepared | undefined;
  /** Prepared, and not committed yet; the host may never do so. */
  #offered: Prepared | undefined;
  #watch: { readonly folder: string; readonly opened: Promise<FolderWatch> } | undefined;
  #changes = 0;
  #renewing: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: GenerationsOptions) {
    this.#options = options;
    this.#workDir = join(options.host.paths.stateDir, "transforms");
  }

  get current(): Generation | undefined {
    return this.#inForce?.generation;
  }

  /** Prepares the generation of a configuration, in force once it is committed; throws a `ConfigError`. */
  async prepare(
    snapshot: ConfigSnapshot,
    hooks: IngressHooks,
  ): Promise<{ readonly generation: Generation; readonly commit: () => void }> {
    if (!this.#inForce) await sweepSnapshots(this.#workDir);
    const { config, reason, gateway, agents, channels } = snapshot;
    const prepared = await this.#prepare({ snapshot: { config, reason, gateway, agents, channels }, hooks });
    if (this.#isClosed) {
      await prepared.generation.transforms.close();
      throw new Error("The ingress has been shut down.");
    }
    const before = this.#offered;
    this.#offered = prepared;
    this.#release(before);
    return {
      generation: prepared.generation,
      commit: () => {
        this.#offered = undefined;
        this.#commit(prepared);
        this.#warn(prepared.generation);
        // A change that was seen after this one had been begun may not be in it.
        if (prepared.changes < this.#changes) this.#renew();
      },
    };
  }

  /** Ends what runs for any of them. Requests that are still under way are refused their transforms. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#offered?.generation.transforms.close();
    await this.current?.transforms.close();
    const watch = await this.#watch?.opened;
    await watch?.close();
    await this.#renewing;
  }

  async #prepare(origin: Origin): Promise<Prepared> {
    const changes = this.#changes;
    const generation = await prepareGeneration(origin.snapshot, {
      host: this.#options.host,
      hooks: origin.hooks,
      keys: await this.#options.keys(),
      workDir: this.#workDir,
      previous: this.current,
    });
    return { generation, origin, changes };
  }

  #commit(prepared: Prepared): void {
    const before = this.#inForce;
    this.#inForce = prepared;
    this.#release(before);
    this.#watchTransforms(prepared.generation);
    this.#options.onCommit();
  }

  #warn({ warnings }: Generation): void {
    for (const warning of warnings) this.#options.host.logger.warn({ warning }, "hooks configuration");
  }

  /** Retired and not closed: another generation, or a request under way, may have the same transforms. */
  #release(prepared: Prepared | undefined): void {
    const transforms = prepared?.generation.transforms;
    if (transforms === this.current?.transforms || transforms === this.#offered?.generation.transforms) return;
    transforms?.retire();
  }

  #watchTransforms({ transforms, config }: Generation): void {
    const folder = transforms.size > 0 ? config.transformsDir : undefined;
    if (folder === this.#watch?.folder || this.#isClosed) return;
    const old = this.#watch?.opened;
    void old?.then((watch) => watch.close());
    this.#watch = folder === undefined ? undefined : { folder, opened: this.#open(folder, transforms) };
  }

  async #open(folder: string, transforms: TransformSet): Promise<FolderWatch> {
    const changed = (): void => {
      this.#changes++;
      this.#renew();
    };
    const watch = await watchFolder(folder, changed, {
      onError: (error) => {
        this.#options.host.logger.error({ err: error, folder }, "The transforms folder can no longer be watched.");
      },
    });
    // What has changed between the loading and the watching.
    if (await transforms.isStale()) changed();
    return watch;
  }

  /** One after the other; what has been seen of the folder meanwhile is in the next one. */
  #renew(): void {
    this.#renewing = this.#renewing.then(() => this.#renewNow());
  }

  async #renewNow(): Promise<void> {
    const base = this.#inForce;
    if (!base || this.#isClosed || base.changes === this.#changes) return;
    const { logger } = this.#options.host;
    const changes = this.#changes;
    try {
      const next = await this.#prepare(base.origin);
      if (this.#isClosed) return await next.generation.transforms.close();
      // A configuration that was committed meanwhile looks after itself.
      if (this.#inForce !== base) return this.#release(next);
      const { transforms } = next.generation;
      if (transforms === base.generation.transforms) return void (this.#inForce = { ...base, changes });
      this.#commit(next);
      logger.info({ transforms: transforms.size }, "Changed transforms are in use.");
    } catch (error) {
      const message = "A change of the transforms is refused; those before stay in use.";
      if (error instanceof ConfigError) logger.error({ issues: configLines(error.issues) }, message);
      else logger.error({ err: error }, message);
      // Tried: another change is needed before it can be any better.
      if (this.#inForce === base) this.#inForce = { ...base, changes };
    }
  }
}
