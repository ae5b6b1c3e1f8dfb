import type { CallTransform } from "./call.ts";

/** The parts of a {@link TransformSet}. */
export interface TransformSetParts {
  /** By the mapping's id. */
  readonly calls: ReadonlyMap<string, CallTransform>;
  /** The sources of the set; a set with the same key would do the same. `undefined`: not known. */
  readonly key: string | undefined;
  /** Ends its processes and removes what it has written; called once, and never rejects. */
  readonly release: () => Promise<void>;
  /** The processes as `transform test` reports them. */
  readonly figures?: () => TransformFigures;
  /** True when the files that it was made from have changed; never rejects. */
  readonly isStale?: () => Promise<boolean>;
  /** Keeps no process warm from now on: only few of its transforms are still called. */
  readonly shrink?: () => void;
}

export interface TransformFigures {
  /** Memory of the process that was called last, in bytes; `undefined` where it cannot be known. */
  readonly rssBytes: number | undefined;
}

/**
 * The transforms of one configuration, ready to be called.
 *
 * It outlives the configuration until the requests have ended that began under it: they `enter` and
 * `leave`, and a set that was retired closes when the last one has left. It also outlives the configuration
 * while a later set keeps one of its transforms, whose own next version does not load.
 */
export class TransformSet {
  readonly #parts: TransformSetParts;
  #users = 0;
  #closed: Promise<void> | undefined;
  /** Transforms of earlier sets, by the mapping's id. */
  readonly #kept = new Map<string, { readonly call: CallTransform; readonly owner: TransformSet }>();
  /** Later sets that keep a transform of this one. */
  #keepers = 0;
  #released: PromiseWithResolvers<void> | undefined;
  /** Waits until no one is in progress. */
  #idle: PromiseWithResolvers<void> | undefined;

  constructor(parts: TransformSetParts) {
    this.#parts = parts;
  }

  get key(): string | undefined {
    return this.#parts.key;
  }

  get size(): number {
    return this.#parts.calls.size + this.#kept.size;
  }

  /** Transforms that were loaded for this set, without those that it keeps. */
  get loaded(): number {
    return this.#parts.calls.size;
  }

  get(mappingId: string): CallTransform | undefined {
    return this.#parts.calls.get(mappingId) ?? this.#kept.get(mappingId)?.call;
  }

  /** Keeps the transform that an earlier set has for a mapping; the earlier set ends after this one. */
  keep(mappingId: string, earlier: TransformSet): void {
    const call = earlier.get(mappingId);
    if (earlier === this || call === undefined || this.get(mappingId) !== undefined) return;
    const owner = earlier.#kept.get(mappingId)?.owner ?? earlier;
    this.#kept.set(mappingId, { call, owner });
    owner.#keepers++;
  }

  figures(): TransformFigures {
    return this.#parts.figures?.() ?? { rssBytes: undefined };
  }

  /** True when the files that it was made from are known to have changed. */
  async isStale(): Promise<boolean> {
    return (await this.#parts.isStale?.()) ?? false;
  }

  /** A request begins that may call one of them. */
  enter(): void {
    this.#users++;
  }

  /** The request has ended. */
  leave(): void {
    this.#users--;
    if (this.#users > 0) return;
    this.#idle?.resolve();
    this.#idle = undefined;
  }

  /** Resolves when no request is in progress that may call one of them. */
  whenIdle(): Promise<void> {
    if (this.#users === 0) return Promise.resolve();
    this.#idle ??= Promise.withResolvers<void>();
    return this.#idle.promise;
  }

  /** No further request will enter; resolves when it is closed, after those in progress have left. */
  async retire(): Promise<void> {
    await this.whenIdle();
    if (this.#keepers > 0) {
      this.#parts.shrink?.();
      this.#released ??= Promise.withResolvers<void>();
      await this.#released.promise;
    }
    await this.close();
  }

  /** Ends it at once; calls in progress are refused. Later calls wait for the same end. */
  close(): Promise<void> {
    this.#closed ??= this.#release();
    return this.#closed;
  }

  async #release(): Promise<void> {
    await this.#parts.release();
    for (const { owner } of this.#kept.values()) owner.#letGo();
  }

  #letGo(): void {
    this.#keepers--;
    if (this.#keepers === 0) this.#released?.resolve();
  }
}

/** The set of a configuration whose mappings name no transform. */
export function noTransforms(): TransformSet {
  return new TransformSet({ calls: new Map(), key: "", release: () => Promise.resolve() });
}

/** The request for a function: a file of the folder, by its real path, and the name of the function. */
export interface NamedTransform {
  readonly mappingId: string;
  readonly file: string;
  readonly export: string | undefined;
}

/** `failures` name places in the list of what was asked for, and say why in words for the gateway's owner. */
export interface LoadedTransforms {
  /** With those that work; `undefined` when one had to be refused and all were asked for. */
  readonly set: TransformSet | undefined;
  readonly failures: readonly TransformFailure[];
}

export interface TransformFailure {
  readonly at: number;
  readonly message: string;
}
