import type { TransformSet } from "./set.ts";

/** What was asked for of the folder: a file of it, by its real path, and the name of a function. */
export interface NamedTransform {
  readonly mappingId: string;
  readonly file: string;
  readonly export: string | undefined;
}

/** `failures` tell places in the list of what was asked for, and say why in words for the gateway's owner. */
export type LoadedTransforms =
  | { readonly ok: true; readonly set: TransformSet }
  | { readonly ok: false; readonly failures: readonly { readonly at: number; readonly message: string }[] };
