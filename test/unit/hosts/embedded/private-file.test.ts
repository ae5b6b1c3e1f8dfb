import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { replacePrivateFile } from "../../../../src/hosts/embedded/private-file.ts";

it("replaces a file for its owner alone, and follows no link that lies in its way", () => {
  const folder = mkdtempSync(join(tmpdir(), "reveille-private-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [file, other] = [join(folder, "kept.json"), join(folder, "other")];
  writeFileSync(other, "of someone else");
  symlinkSync(other, `${file}.new`);
  for (const text of ["one", "two"]) {
    replacePrivateFile(file, text);
    expect([readFileSync(file, "utf8"), statSync(file).mode & 0o777]).toEqual([text, 0o600]);
  }
  expect(readFileSync(other, "utf8")).toBe("of someone else");
});
