import type { SubscriptionConfig } from "../../config/subscriptions.ts";
import type { ActiveConfig } from "../active-config.ts";

/** A subscription of the active configuration, and where its events go. */
export interface ActiveSubscription extends SubscriptionConfig {
  /** The path of its mapping below `hooks.path`. */
  readonly path: string;
  /** Of its mapping: what the server signs with. */
  readonly secret: string;
}

/** For a host that subscribes: what the owner wants to receive. */
export class SubscriptionOperations {
  readonly #active: () => ActiveConfig;

  constructor({ active }: { readonly active: () => ActiveConfig }) {
    this.#active = active;
  }

  /** The path of a mapping; `undefined`: there is no such mapping, or it has none of its own. */
  pathOf(mappingId: string): string | undefined {
    return this.#active().config.mappings.find(({ id }) => id === mappingId)?.match.path;
  }

  /** Of a mapping that is set aside, the subscription is so as well. */
  list(): readonly ActiveSubscription[] {
    const { mappings, subscriptions } = this.#active().config;
    return subscriptions.flatMap((subscription) => {
      const mapping = mappings.find(({ id }) => id === subscription.mapping);
      if (mapping?.match.path === undefined) return [];
      const { auth } = mapping;
      const secret = (auth !== undefined && "secrets" in auth ? auth.secrets[0] : undefined) ?? "";
      const broken = subscription.broken ?? (secret === "" ? mapping.broken : undefined);
      return [{ ...subscription, path: mapping.match.path, secret, broken }];
    });
  }
}
