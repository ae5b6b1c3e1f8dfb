import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { OLDEST_HOST } from "../../src/hosts/openclaw/require-calls.ts";
import { readDocPage } from "../docs/doc-blocks.ts";
import { matchesJson, matchesText } from "../docs/match-output.ts";
import { OpenClawPage } from "./openclaw-page.ts";

/** What becomes of a call is seen a moment later; to read it again changes nothing. */
const READING = /^openclaw reveille deliveries list\b/;
const PATIENCE_MS = 60_000;

const { text, blocks } = readDocPage("docs/operate/openclaw.md");

/**
 * Every code block of the page does what it says, in order, on one machine: `json5` is laid over the host's
 * configuration as it was before; `sh` is run by a real shell; `json` and `text` are what the `sh` before
 * them prints.
 */
describe("docs/operate/openclaw.md", () => {
  let page: OpenClawPage;

  beforeAll(async () => {
    page = await OpenClawPage.open();
  });
  afterAll(async () => {
    await (page as OpenClawPage | undefined)?.close();
  });

  for (const [at, { where, language, text: script }] of blocks.entries()) {
    const answer = blocks[at + 1];
    if (language === "json5") {
      it(`${where} is a configuration`, () => {
        page.configure(script);
      });
    } else if (language === "sh") {
      it(`${where} does what it says: ${script.split("\n", 1).join("")}`, async () => {
        const shown = answer?.language === "json" || answer?.language === "text" ? answer : undefined;
        const deadline = Date.now() + PATIENCE_MS;
        let result = await runAndCompare(script, shown);
        while (result !== "as shown" && READING.test(script) && Date.now() < deadline) {
          result = await runAndCompare(script, shown);
        }
        expect(result).toBe("as shown");
      });
    } else {
      it(`${where} is what the script before it prints`, () => {
        expect(blocks[at - 1]?.language).toBe("sh");
      });
    }
  }

  it("names the oldest version of the host", () => {
    expect(text).toContain(`OpenClaw ${OLDEST_HOST} or newer`);
  });

  /** `as shown`, or what came instead. */
  async function runAndCompare(script: string, shown: (typeof blocks)[number] | undefined): Promise<string> {
    const { code, out } = await page.run(script);
    if (code !== 0) return `exit code ${code}: ${out}`;
    if (shown === undefined) return "as shown";
    const isShown =
      shown.language === "json" ? matchesJson(out, shown.text) : matchesText(squeezed(out), squeezed(shown.text));
    return isShown ? "as shown" : out;
  }

  /** Tables are as wide as their ids, which the page does not show. */
  function squeezed(table: string): string {
    return table.replaceAll(/ +$/gmu, "").replaceAll(/(?<=\S) {2,}/gu, "  ");
  }
});
