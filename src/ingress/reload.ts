import { join } from "node:path";
import { configLines, ConfigError } from "../config/errors.ts";
import { brokenByEdit, type ConfigEdit, editedHooks } from "../config/mapping/edit.ts";
import { prepareActiveConfig } from "./active-config.ts";
import type { ActiveConfig, ActiveConfigOptions, ReadSnapshot } from "./active-config.ts";
import type { IngressHooks } from "./hooks.ts";
import type { ConfigSnapshot, GatewayHost } from "../core/host.ts";
import { settledWithin } from "../core/settled-within.ts";
import { sweepSnapshots } from "../transform/folder/snapshot.ts";
import { watchFolder } from "../transform/folder/watch.ts";
import type { FolderWatch } from "../transform/folder/watch.ts";
import type { TransformSet } from "../transform/set.ts";
import { TransformsUnavailableError } from "../transform/load-in-sandbox.ts";

/** The origin of a configuration, to prepare it again when a transform has changed. */
interface Origin {
  readonly snapshot: Omit<ConfigSnapshot, "onCommit">;
  readonly hooks: IngressHooks;
}

/** A prepared configuration, and the number of changes in the transforms folder seen when it was begun. */
interface Prepared {
  readonly active: ActiveConfig;
  readonly origin: Origin;
  readonly changes: number;
}

export interface ConfigReloadOptions {
  readonly host: GatewayHost;
  /** True: no mapping is set aside. */
  readonly strict?: boolean | undefined;
  readonly keys: () => Promise<ActiveConfigOptions["keys"]>;
  /** Called when another configuration is active. */
  readonly onCommit: () => void;
}

/**
 * The active configuration, and how the next one replaces it: with a configuration, or when a file of
 * the transforms folder has changed.
 *
 * A request finishes on the configuration it began with, whose transforms end with its last request.
 * A configuration that is refused, or prepared and never committed, leaves nothing behind.
 */
export class ConfigReload {
  readonly #options: ConfigReloadOptions;
  readonly #workDir: string;
  #current: Prepared | undefined;
  /** Prepared, and not committed yet; the host may never do so. */
  #offered: Prepared | undefined;
  /** Replaced or never committed; a request may still use them. */
  readonly #retired = new Set<ActiveConfig>();
  /** Preparations in progress for the host; each ends soon after `close`. */
  readonly #preparing = new Set<Promise<Prepared>>();
  #watch: { readonly folder: string; readonly opened: Promise<FolderWatch> } | undefined;
  /** Of folders that are watched no more. */
  #unwatched: Promise<unknown> = Promise.resolve();
  #changes = 0;
  #renewing: Promise<void> = Promise.resolve();
  /** Ends a renewal that is in progress. */
  #renewal: AbortController | undefined;
  #retry: NodeJS.Timeout | undefined;
  #retryMs = FIRST_RETRY_MS;
  readonly #closing = new AbortController();

  constructor(options: ConfigReloadOptions) {
    this.#options = options;
    this.#workDir = join(options.host.paths.stateDir, "transforms");
  }

  get current(): ActiveConfig | undefined {
    return this.#current?.active;
  }

  /** The `hooks` block that is active, as it is written. */
  get written(): unknown {
    return this.#current?.origin.snapshot.config;
  }

  /** Prepares a configuration, which is active once it is committed; throws a `ConfigError`. */
  async prepare(
    snapshot: ConfigSnapshot,
    hooks: IngressHooks,
  ): Promise<{ readonly active: ActiveConfig; readonly commit: () => void }> {
    if (!this.#current) await sweepSnapshots(this.#workDir);
    const { config, reason, gateway, agents, channels } = snapshot;
    const preparing = this.#prepareOffer({ snapshot: { config, reason, gateway, agents, channels }, hooks });
    this.#preparing.add(preparing);
    const prepared = await preparing.finally(() => this.#preparing.delete(preparing));
    return {
      active: prepared.active,
      commit: () => {
        this.#offered = undefined;
        this.#commit(prepared);
        this.#warn(prepared.active);
        // A change that was seen after this one had been begun may not be in it.
        if (prepared.changes < this.#changes) this.#renew();
      },
    };
  }

  /**
   * Prepares an edited configuration for `use`; it never becomes active, and what it started ends with `use`. Throws a
   * `ConfigError`, also when a mapping works no longer by the edit.
   */
  async withEdit<Result>(edit: ConfigEdit, use: (edited: ActiveConfig) => Promise<Result>): Promise<Result> {
    const current = this.#current;
    if (current === undefined) throw new Error("There is no configuration to edit.");
    const { snapshot, hooks } = current.origin;
    const { mappings } = current.active.config;
    const config = editedHooks(snapshot.config, edit, mappings);
    const preparing = this.#prepare({ snapshot: { ...snapshot, config }, hooks });
    this.#preparing.add(preparing);
    const { active } = await preparing.finally(() => this.#preparing.delete(preparing));
    this.#retired.add(active);
    // A reload meanwhile leaves its transforms running until the end.
    active.transforms.enter();
    try {
      const broken = brokenByEdit(active.config.mappings, mappings);
      if (broken.length > 0) throw new ConfigError(broken.map((message) => ({ path: "hooks.mappings", message })));
      return await use(active);
    } finally {
      active.transforms.leave();
      this.#retired.delete(active);
      const isShared = this.#living().some(({ transforms }) => transforms === active.transforms);
      if (!isShared) await active.transforms.close();
    }
  }

  /** Ends the transforms of all configurations. Requests in flight are refused their transforms. */
  async close(): Promise<void> {
    this.#closing.abort(new Error(SHUT_DOWN));
    clearTimeout(this.#retry);
    await Promise.all(this.#living().map(({ transforms }) => transforms.close()));
    const watch = await this.#watch?.opened;
    await watch?.close();
    await this.#unwatched;
    await this.#renewing;
    await settledWithin(Promise.allSettled(this.#preparing), PREPARING_MS);
  }

  /** Waits for requests in flight that may call a transform, for the time limit of one call. */
  async settle(leftMs: number): Promise<void> {
    const called = this.#living().filter(({ transforms }) => transforms.size > 0);
    if (called.length === 0) return;
    const longestMs = Math.max(...called.map(({ config }) => config.transforms.timeoutMs));
    const idle = Promise.all(called.map(({ transforms }) => transforms.whenIdle()));
    await settledWithin(idle, Math.min(leftMs, longestMs + GRACE_MS));
  }

  /** Prepares what the host may commit. Rejects, and leaves nothing behind, when all was closed meanwhile. */
  async #prepareOffer(origin: Origin): Promise<Prepared> {
    const prepared = await this.#prepare(origin);
    if (this.#closing.signal.aborted) {
      await prepared.active.transforms.close();
      throw new Error(SHUT_DOWN);
    }
    const before = this.#offered;
    this.#offered = prepared;
    this.#release(before);
    return prepared;
  }

  /** `read`: what was read of the configuration before; nothing else of it is applied then. */
  async #prepare(origin: Origin, read?: ReadSnapshot, signal = this.#closing.signal): Promise<Prepared> {
    const changes = this.#changes;
    const active = await prepareActiveConfig(origin.snapshot, {
      host: this.#options.host,
      hooks: origin.hooks,
      keys: await this.#options.keys(),
      workDir: this.#workDir,
      previous: this.current,
      strict: this.#options.strict,
      read,
      signal,
    });
    return { active, origin, changes };
  }

  #commit(prepared: Prepared): void {
    const before = this.#current;
    this.#current = prepared;
    this.#release(before);
    this.#watchTransforms(prepared.active);
    this.#options.onCommit();
  }

  #warn({ warnings }: ActiveConfig): void {
    for (const warning of warnings) this.#options.host.logger.warn({ warning }, "hooks configuration");
  }

  /** Retires the transforms without closing them: another configuration or a request may still use them. */
  #release(prepared: Prepared | undefined): void {
    if (!prepared) return;
    const { active } = prepared;
    const { transforms } = active;
    if (transforms === this.current?.transforms || transforms === this.#offered?.active.transforms) return;
    this.#retired.add(active);
    void transforms.retire().then(() => this.#retired.delete(active));
  }

  /** Those whose transforms may be called or have not been ended. */
  #living(): readonly ActiveConfig[] {
    return [this.#current?.active, this.#offered?.active, ...this.#retired].filter((one) => one !== undefined);
  }

  #watchTransforms({ transforms, config }: ActiveConfig): void {
    // Also when none of them works: a change may repair one.
    const isUsed = config.enabled && config.mappings.some(({ transform }) => transform !== undefined);
    const folder = isUsed ? config.transformsDir : undefined;
    if (folder === this.#watch?.folder || this.#closing.signal.aborted) return;
    const old = this.#watch?.opened;
    if (old) this.#unwatched = Promise.all([this.#unwatched, old.then((watch) => watch.close())]);
    this.#watch = folder === undefined ? undefined : { folder, opened: this.#open(folder, transforms) };
  }

  async #open(folder: string, transforms: TransformSet): Promise<FolderWatch> {
    const changed = (): void => {
      this.#changes++;
      // The version that is loading is outdated; one that hangs must not delay the next one.
      const overtaken = this.#renewal;
      if (overtaken) setTimeout(() => overtaken.abort(), OVERTAKEN_MS).unref();
      this.#renew();
    };
    const watch = await watchFolder(folder, changed, {
      onError: (error) => {
        this.#options.host.logger.error({ err: error, folder }, "the transforms folder can no longer be watched");
      },
    });
    // Changes between the loading and the watching.
    if (await transforms.isStale()) changed();
    return watch;
  }

  /** One after the other; what has been seen of the folder meanwhile is in the next one. */
  #renew(): void {
    this.#renewing = this.#renewing.then(() => this.#renewNow());
  }

  async #renewNow(): Promise<void> {
    const base = this.#current;
    const { signal: closing } = this.#closing;
    if (!base || closing.aborted || base.changes === this.#changes) return;
    const { logger } = this.#options.host;
    const changes = this.#changes;
    const renewal = new AbortController();
    this.#renewal = renewal;
    try {
      const next = await this.#prepare(base.origin, base.active.read, AbortSignal.any([renewal.signal, closing]));
      if (closing.aborted) return await next.active.transforms.close();
      // A configuration that was committed meanwhile looks after itself.
      if (this.#current !== base) return this.#release(next);
      this.#retryMs = FIRST_RETRY_MS;
      const { transforms } = next.active;
      if (transforms === base.active.transforms) return void (this.#current = { ...base, changes });
      this.#commit(next);
      if (transforms.loaded > 0) logger.info({ transforms: transforms.loaded }, "changed transforms are active");
      this.#logBroken(next.active);
    } catch (error) {
      // A newer change is waiting, or the ingress was closed.
      if (renewal.signal.aborted || closing.aborted) return;
      this.#refuse(base, changes, error);
    } finally {
      this.#renewal = undefined;
    }
  }

  #logBroken({ brokenTransforms: issues }: ActiveConfig): void {
    if (issues.length > 0) this.#options.host.logger.error({ issues: configLines(issues) }, REFUSED_CHANGE);
  }

  #refuse(base: Prepared, changes: number, error: unknown): void {
    const { logger } = this.#options.host;
    if (error instanceof ConfigError) logger.error({ issues: configLines(error.issues) }, REFUSED_CHANGE);
    else logger.error({ err: error }, REFUSED_CHANGE);
    if (error instanceof ConfigError && !(error instanceof TransformsUnavailableError)) {
      // Tried: another change is needed before it can be any better.
      if (this.#current === base) this.#current = { ...base, changes };
      return;
    }
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.#renew(), this.#retryMs).unref();
    this.#retryMs = Math.min(this.#retryMs * 2, MAX_RETRY_MS);
  }
}

const REFUSED_CHANGE = "a change of transforms is refused; the versions before stay active";
/** Why a configuration is refused after the end of all. */
export const SHUT_DOWN = "The ingress has been shut down.";
/** The time allowed for a transient reason to pass. */
const FIRST_RETRY_MS = 2_000;
const MAX_RETRY_MS = 60_000;
/** A renewal that continues for so long after the next change was seen is given up. */
const OVERTAKEN_MS = 2_000;
/** Time in which an abandoned preparation may end what it started; a preset's module may hang in it. */
const PREPARING_MS = 5_000;
/** For a call to be stored after its transform has answered. */
const GRACE_MS = 500;
