import { gmail } from "./gmail.ts";
import type { Preset } from "./preset.ts";

/** The presets that ship with the product. */
export const BUILT_IN_PRESETS: readonly Preset[] = [gmail];
