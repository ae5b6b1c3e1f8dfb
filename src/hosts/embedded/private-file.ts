import { renameSync, rmSync, writeFileSync } from "node:fs";

/**
 * Puts a text in the place of a file by a rename, for the owner alone. Root may do it in a folder of the gateway's user:
 * a link that lies where the text is written first is not followed.
 */
export function replacePrivateFile(file: string, text: string): void {
  const draft = `${file}.new`;
  rmSync(draft, { force: true });
  writeFileSync(draft, text, { flag: "wx", mode: 0o600 });
  renameSync(draft, file);
}
