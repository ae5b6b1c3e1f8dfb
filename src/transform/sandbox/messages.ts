/**
 * The messages between the gateway and a sandbox process, over file descriptor 3 of the process.
 *
 * A frame is two numbers (32 bits, little-endian: the lengths of the two parts), a JSON text in UTF-8, and
 * bytes: the raw body of a call, nothing in all other frames. Whatever comes out of the process is hostile:
 * its length, its JSON and every field of it.
 */
import type { ContextFields } from "../context.ts";

/** A function to load: `file` is relative to the folder. */
export interface SandboxModule {
  readonly file: string;
  /** `null`: `default`, else `transform`. */
  readonly export: string | null;
}

/** Gateway to process. Modules are named by their place in the list of `load`, which comes first and once. */
export type SandboxRequest =
  | {
      readonly do: "load";
      /** The folder as the process finds it, and its name in messages. */
      readonly folder: { readonly path: string; readonly name: string };
      readonly modules: readonly SandboxModule[];
      readonly maxResultBytes: number;
    }
  /** No one but the two can guess the id, so no module answers a call that it was not handed. */
  | {
      readonly do: "call";
      readonly id: number;
      readonly module: number;
      /** True: the payload is what `JSON.parse` makes of the body, and `context` lacks it, so that it travels once. */
      readonly readsBody: boolean;
      readonly context: ContextFields;
    };

/** Process to gateway. Calls are carried out one after the other, reported and answered in their order. */
export type SandboxReply =
  /** It is up, and what it may not do has been taken from it. */
  | { readonly is: "up" }
  /** The next module is being loaded. */
  | { readonly is: "loading"; readonly module: number }
  /** All modules have been tried; the messages are for the gateway's owner and name file, line and column. */
  | { readonly is: "loaded"; readonly failures: readonly SandboxLoadFailure[] }
  /** The function of a call is called next: its time runs, and what happens from now on is its own. */
  | { readonly is: "begun"; readonly id: number }
  /** `value` is absent when the transform returned `undefined`. */
  | { readonly is: "returned"; readonly id: number; readonly value?: unknown }
  /** A part of a sentence: `threw TypeError: x is not a function (hooks/transforms/a.ts:3:9)`. */
  | { readonly is: "failed"; readonly id: number; readonly reason: string }
  /** A module's output to the console, cut to 1,000 characters; at most 20 for each call. */
  | { readonly is: "log"; readonly level: "debug" | "info" | "warn" | "error"; readonly text: string };

export interface SandboxLoadFailure {
  readonly module: number;
  readonly message: string;
}
