import { PresetBlockSchema } from "./preset.ts";
import { HooksSchema } from "./hooks.ts";

const keysOf = ({ properties }: { readonly properties: object }): string => Object.keys(properties).join("|");

/** A key that there is, in the block itself or in that of a preset. Host names may begin with the same word. */
const KNOWN = String.raw`hooks(?=\[|\.(?:(?:${keysOf(HooksSchema)})|[\w-]+\.(?:${keysOf(PresetBlockSchema)}))(?![\w-]))`;
/** Any key where the path of an issue stands: a line that begins with it, after a level or the name of an error. */
const PATH = String.raw`(?<=^|[ ]{2}|- |ConfigError: )hooks(?=\.[\w$.[\]-]+: )`;
/** A preset's whole block: "here or in hooks.github". */
const BLOCK = String.raw`(?<= in )hooks(?=\.[\w-]+(?!\.?[\w-]))`;
const KEY = new RegExp(`(?<![\\w./-])(?:${KNOWN}|${PATH}|${BLOCK})`, "gmu");

/** Every key of the `hooks` block in a text, named as under the key at which a host has that block. */
export function qualifyKeys(text: string, block: string): string {
  return block === "hooks" ? text : text.replaceAll(KEY, block);
}
