/**
 * Preloaded by `node --import`: loads the product with one defense broken, which the environment variable
 * `REVEILLE_BREAK` names, so that the product has no line for it.
 */
import { registerHooks } from "node:module";
import { BREAK_VARIABLE, BREAKS } from "./breaks.ts";

const name = process.env[BREAK_VARIABLE];
const broken = BREAKS.find((each) => each.name === name);
if (broken === undefined) throw new Error(`There is no defense called ${JSON.stringify(name)}.`);
const { file, find, put } = broken;
const { href } = new URL(`../../src/${file}`, import.meta.url);
registerHooks({
  load: (url, context, nextLoad) => {
    const loaded = nextLoad(url, context);
    if (url !== href) return loaded;
    const source = Buffer.from((loaded.source ?? "") as Uint8Array).toString();
    if (!source.includes(find)) throw new Error(`${file} has no ${JSON.stringify(find)} to break.`);
    return { ...loaded, source: source.replace(find, () => put) };
  },
});
