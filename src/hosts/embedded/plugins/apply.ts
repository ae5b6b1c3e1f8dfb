import type { HostLifecycle } from "../../../core/host.ts";

type HookName = keyof HostLifecycle;

/** Tells which of the host's hooks were tapped since it was made, for manifests that list them. */
export class TappedHooks {
  readonly #lifecycle: HostLifecycle;
  readonly #before: ReadonlyMap<string, number>;

  constructor(lifecycle: HostLifecycle) {
    this.#lifecycle = lifecycle;
    this.#before = this.#count();
  }

  /** In words, one for each hook that is listed and not tapped, or tapped and not listed. */
  differencesFrom(listed: readonly HookName[]): readonly string[] {
    return [...this.#count()].flatMap(([name, count]) => {
      const isTapped = count > (this.#before.get(name) ?? 0);
      if (isTapped === (listed as readonly string[]).includes(name)) return [];
      return isTapped
        ? [`the plugin taps ${name}, which "lifecycle" does not list; add it there`]
        : [`"lifecycle" lists ${name}, which the plugin does not tap; remove it there`];
    });
  }

  #count(): ReadonlyMap<string, number> {
    return new Map(
      Object.entries(this.#lifecycle).map(([name, hook]) => [name, (hook as { taps: unknown[] }).taps.length]),
    );
  }
}
