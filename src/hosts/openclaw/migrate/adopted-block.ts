import type { HooksConfig } from "../../../config/hooks-config.ts";
import type { HooksInput } from "../../../config/schema.ts";
import type { Fields } from "./fields.ts";
import type { HostFacts } from "./host-facts.ts";
import type { HostHooks } from "./host-hooks-schema.ts";

/** A block before and after, with what it stands in. */
export interface MigratedBlock {
  /** As it is written. */
  readonly hooks: HostHooks;
  /** Ours, as it will be written. */
  readonly block: HooksInput;
  /** Ours, as it is read. */
  readonly read: HooksConfig;
  /** The whole new configuration, its references replaced. */
  readonly config: Fields;
  readonly facts: HostFacts;
}
