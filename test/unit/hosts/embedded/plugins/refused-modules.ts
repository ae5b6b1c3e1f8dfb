import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { GOOD_CLASS, presetText } from "./plugin-folder.ts";
import type { Entries } from "./plugin-folder.ts";

/** A plugin that is wrong in one way, and what is said about it. */
export interface Refusal {
  /** The manifest beside what is required, or its whole text. */
  readonly manifest?: object | string;
  readonly files?: Readonly<Record<string, string>>;
  /** What is done besides to the folder of all plugins, where the plugin is in `p`. */
  readonly change?: (path: string) => void;
  /** `plugins.load.paths` from that folder. */
  readonly paths?: readonly string[];
  readonly entries?: Entries;
  readonly says: string | readonly string[];
}

export const AT = "plugins.load.paths[0]: ";
export const PRESETS = { entry: undefined, pluginApi: "^1.1" };

/** What is refused of a module with the class. */
export const MODULES: Readonly<Record<string, Refusal>> = {
  "a module that does not parse": {
    files: { "index.js": "const a = 1;\nexport default class {{}" },
    says: `${AT}~/p/index.js:2:23: Unexpected token`,
  },
  "an imported module that does not parse": {
    files: { "index.js": 'import "./lib.ts";', "lib.ts": "\n\nlet x: = 1;" },
    says: `${AT}~/p/lib.ts:3:8: Unexpected token (loaded by ~/p/index.js)`,
  },
  "a module that throws": {
    files: { "index.js": "\nthrow new Error('no such luck');" },
    says: `${AT}~/p/index.js:2: throws while it is loaded: Error: no such luck`,
  },
  "a module that throws something else than an error": {
    files: { "index.js": "throw undefined;" },
    says: `${AT}~/p/index.js: throws while it is loaded: undefined`,
  },
  "a module that imports from elsewhere": {
    files: { "index.js": 'import "../elsewhere.js";' },
    change: (path) => symlinkSync("/etc/hostname", join(path, "elsewhere.js")),
    says: `${AT}~/p/index.js:1: cannot import "../elsewhere.js": it lies outside of ~/p, the only folder to load from`,
  },
  "a module that imports a package that is not installed": {
    files: { "index.js": 'import "acme-sdk";' },
    says: `${AT}~/p/index.js:1: cannot import "acme-sdk": there is no such package in ~/p/node_modules; install it there`,
  },
  "a module that imports the kit for tests": {
    files: { "index.js": 'import "reveille/testing"; export default class { apply() {} }' },
    says:
      `${AT}~/p/index.js:1: cannot import "reveille/testing": a plugin gets "reveille" alone, and everything else of ` +
      'that package would be another copy; "reveille/testing" is for tests',
  },
  "exports that throw when they are looked at": {
    files: {
      "index.js": `export default new Proxy(class { apply() {} }, { get() { throw new Error("do not look"); } });`,
    },
    says: `${AT}~/p/index.js: what it exports cannot be read: do not look`,
  },
  "no class": {
    files: { "index.js": "export default {}; export class A {} export const f = () => {}; export function g() {}" },
    says: `${AT}~/p/index.js: exports no class with an apply method; export one by default`,
  },
  "a module that exports nothing at all": {
    manifest: { entry: "index.cjs" },
    files: { "index.cjs": "module.exports = null;" },
    says: `${AT}~/p/index.cjs: exports no class with an apply method; export one by default`,
  },
  "a preset in the place of a class": {
    files: { "index.js": presetText("a") },
    says: `${AT}~/p/index.js: exports no class with an apply method; it exports a preset: name the file in "presets" instead`,
  },
  "several classes": {
    files: { "index.js": "export class A { apply() {} } export class B { apply() {} }" },
    says: `${AT}~/p/index.js: exports several classes with an apply method; export one by default`,
  },
  "a constructor that refuses": {
    files: {
      "index.js": "export default class { constructor() { throw new Error('needs a url\\nand more'); } apply() {} }",
    },
    says: `${AT}~/p/index.js: the plugin "p" refused its options: needs a url`,
  },
  "a constructor that throws what cannot be shown": {
    files: { "index.js": "export default class { constructor() { throw Object.create(null); } apply() {} }" },
    says: `${AT}~/p/index.js: the plugin "p" refused its options: something that cannot be shown`,
  },
};

/** What is refused of a module with a preset. */
export const PRESET_MODULES: Readonly<Record<string, Refusal>> = {
  "a preset module without a default export": {
    manifest: { ...PRESETS, presets: ["a.ts"] },
    files: { "a.ts": "export const preset = 1;" },
    says: `${AT}~/p/a.ts: exports no preset by default; write: export default definePreset({ ... })`,
  },
  "a preset module that exports a class": {
    manifest: { ...PRESETS, presets: ["a.js"] },
    files: { "a.js": GOOD_CLASS },
    says: `${AT}~/p/a.js: exports no preset by default; write: export default definePreset({ ... })`,
  },
  "a preset module that does not parse": {
    manifest: { ...PRESETS, presets: ["a.ts"] },
    files: { "a.ts": "export default {" },
    says: `${AT}~/p/a.ts:1:17: Unexpected token`,
  },
  "a preset that lacks something": {
    manifest: { ...PRESETS, presets: ["a.ts"] },
    files: { "a.ts": 'export default { name: "a", title: "A", samples: {} };' },
    says: `${AT}~/p/a.ts: the preset lacks documentation, auth, setup`,
  },
  "what only looks like a preset that was made": {
    manifest: { ...PRESETS, presets: ["a.ts"] },
    files: { "a.ts": 'export default { name: "a", eventOf: () => "x" };' },
    says: `${AT}~/p/a.ts: the preset lacks title, documentation, auth, samples, setup`,
  },
  "a preset that throws when it is looked at": {
    manifest: { ...PRESETS, presets: ["a.ts"] },
    files: { "a.ts": 'export default { get name() { throw new Error("do not look"); } };' },
    says: `${AT}~/p/a.ts: do not look`,
  },
  "a preset whose parts are not there at all": {
    manifest: { ...PRESETS, presets: ["a.ts"] },
    files: { "a.ts": presetText("a").replace(/setup: .*/u, "setup: undefined,") },
    says: `${AT}~/p/a.ts: The preset "a" cannot be used: setup has no step.`,
  },
  "a preset that cannot be used": {
    manifest: { ...PRESETS, presets: ["a.ts"] },
    files: { "a.ts": presetText("A B") },
    says: `${AT}~/p/a.ts: The preset "A B" cannot be used: name must be lower case letters, digits and single hyphens.`,
  },
  "two presets of one name": {
    manifest: { ...PRESETS, presets: ["a.ts", "b.ts"] },
    files: { "a.ts": presetText("same"), "b.ts": presetText("same") },
    says: `${AT}~/p/b.ts: the preset "same" has the name of one of the same plugin (~/p/a.ts); give it another name`,
  },
};
