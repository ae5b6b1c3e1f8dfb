import type { HooksConfig, HooksInput } from "../../../config/hooks.ts";
import type { Fields } from "../fields.ts";
import type { HostFacts } from "./host-facts.ts";
import type { HostHooks } from "./hooks-schema.ts";

/**
 * The subject of a note: `written` is about the new configuration, `behavior` about what callers and
 * agents notice, `lost` what is not carried over and what to do instead, `todo` what remains to be done.
 */
export type NoteKind = "written" | "behavior" | "lost" | "todo";

/** One sentence for the gateway's owner; never holds a secret. */
export interface MigrationNote {
  readonly kind: NoteKind;
  /** The key that it is about: `hooks.mappings[2].channel`; absent when it is about the whole. */
  readonly path?: string;
  readonly text: string;
}

/** Gathers notes in the order in which they are found. */
export class MigrationNotes {
  readonly list: MigrationNote[] = [];

  add(kind: NoteKind, text: string, path?: string): void {
    this.list.push(path === undefined ? { kind, text } : { kind, path, text });
  }
}

/** A block before and after, with what it is in. */
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
