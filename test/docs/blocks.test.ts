import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isAnswer, PageRun } from "./page-run.ts";
import { readDocPages } from "./doc-blocks.ts";
import type { DocPage } from "./doc-blocks.ts";

/** Its blocks are run by `test/openclaw/page.test.ts`. */
const IN_ANOTHER_GATEWAY = "docs/operate/openclaw.md";

/**
 * Every code block of README.md and docs/ does what it says, in order, against one gateway a page:
 *
 * - `json5` is laid over the configuration of a first start and applied, until the next section;
 * - a block with a file behind its language is that file, in the configuration's folder;
 * - `sh` is run by a real shell, where that gateway's URL and tokens are;
 * - `json` and `text` without a file are what the `sh` before them prints, `<id>` and `<time>` aside;
 * - `mermaid` is a picture and does nothing.
 */
const pages = readDocPages()
  .map((page) => ({ ...page, blocks: page.blocks.filter(({ language }) => language !== "mermaid") }))
  .filter(({ path, blocks }) => blocks.length > 0 && path !== IN_ANOTHER_GATEWAY);

describe.each(pages)("$path", ({ blocks }: DocPage) => {
  const names = variablesIn(blocks.map(({ text }) => text).join());
  const secrets = Object.fromEntries(Array.from(names, (name) => [name, secretOf(name)]));
  let page: PageRun;

  beforeAll(async () => {
    Object.assign(process.env, secrets);
    page = new PageRun(secrets);
    await page.gateway.start();
  });
  afterAll(async () => {
    await page.gateway.stop();
    for (const name of names) delete process.env[name];
  });

  for (const [at, block] of blocks.entries()) {
    const answer = blocks.slice(at + 1, at + 2).find(isAnswer);
    if (isAnswer(block)) {
      it(`${block.where} is what the script before it prints`, () => {
        expect(blocks[at - 1]?.language).toBe("sh");
      });
    } else {
      it(`${block.where} does what it says: ${block.language} ${block.file ?? firstLine(block.text)}`, async () => {
        await page.run(block, answer);
      });
    }
  }
});

function firstLine(text: string): string {
  return text.split("\n", 1).join("").slice(0, 60);
}

/** Environment variables that configurations of the page take secrets from. */
function variablesIn(text: string): Set<string> {
  return new Set(Array.from(text.matchAll(/(?:\$\{|env: ")([A-Z][A-Z0-9_]+)["}]/g), ([, name]) => name!));
}

/** Good as a token and as a key for signatures, and another for each name; of what is called a URL, one. */
function secretOf(name: string): string {
  if (name.endsWith("_URL")) return "https://example.com/a-secret-part";
  return `whsec_${Buffer.from(name.padEnd(32, ".")).toString("base64")}`;
}
