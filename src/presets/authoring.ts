/** The exports that a module of the configuration's folder gets for `import ... from "reveille"`. */
export { definePreset } from "./define-preset.ts";
export { clip, itemLines, joinText, labeled, listAt, messageOf, textAt, valueAt } from "../core/payload-text.ts";
export { asJson } from "./message/data-lines.ts";
