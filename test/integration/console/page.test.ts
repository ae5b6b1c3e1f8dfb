import { gzipSync } from "node:zlib";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { buildConsolePage } from "../../../scripts/console-page.ts";

const MAX_GZIP_BYTES = 27_000;

describe("the console's page", () => {
  it("weighs at most 27 kB, loads nothing from elsewhere and has nothing inline", async () => {
    const folder = mkdtempSync(join(tmpdir(), "reveille-page-"));
    try {
      await buildConsolePage(folder);
      const files = readdirSync(folder);
      expect(files.toSorted()).toEqual(["console.css", "console.js", "favicon.svg", "index.html"]);
      const texts = files.map((name) => readFileSync(join(folder, name)));
      const bytes = texts.reduce((sum, text) => sum + gzipSync(text).length, 0);
      expect(bytes).toBeLessThan(MAX_GZIP_BYTES);
      const html = readFileSync(join(folder, "index.html"), "utf8");
      expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)|https?:/u);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
