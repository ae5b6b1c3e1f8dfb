import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { BREAKS } from "../../persuaded/breaks.ts";
import { campaign } from "../../persuaded/campaign.ts";

/** `npm run persuaded` makes thousands, at random, and breaks each defense. */
const ATTACKS = 150;

it("an agent that obeys every order does nothing that the configuration forbids", async () => {
  const { violations, read, effects } = await campaign({ attacks: ATTACKS, seed: 20_261_125 });
  expect(violations).toEqual([]);
  expect(read).toBeGreaterThan(ATTACKS / 3);
  expect(effects["tool"]).toBeGreaterThan(0);
}, 300_000);

it.each(BREAKS)("that $name can be broken, to see that it is counted", ({ file, find }) => {
  expect(readFileSync(new URL(`../../../src/${file}`, import.meta.url), "utf8").split(find)).toHaveLength(2);
});
