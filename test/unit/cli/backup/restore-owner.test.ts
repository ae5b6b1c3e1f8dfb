import { chmodSync, chownSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { RecordedProcess } from "../recorded-process.ts";

const NOBODY = 65_534;
let terminal: RecordedProcess;

beforeEach(() => {
  terminal = new RecordedProcess();
});
afterEach(() => {
  terminal.remove();
});

/** The paths below a folder that are not of that owner. */
function ofOthers(folder: string, uid: number): readonly string[] {
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return paths.filter((path) => statSync(join(folder, path)).uid !== uid);
}

describe("reveille restore as root", () => {
  it.skipIf(process.getuid?.() !== 0)(
    "leaves what it restores to the owner of the place, and to the group that may read the configuration",
    async () => {
      await terminal.run("init");
      const modules = join(terminal.homeDir, ".reveille", "hooks", "transforms", "team");
      mkdirSync(modules, { recursive: true });
      writeFileSync(join(modules, "a.mjs"), "export default () => ({});\n");
      const { code } = await terminal.serve();
      terminal.signals.emit("SIGTERM");
      await code;
      const file = join(terminal.homeDir, "backup.tar.gz");
      expect(await terminal.run("backup", file, "--with-secrets")).toBe(0);

      const home = join(terminal.homeDir, "service");
      mkdirSync(home, { mode: 0o700 });
      chownSync(home, NOBODY, NOBODY);
      const config = join(home, "gateway", "reveille.json5");
      for (const options of [[], ["--force"]]) {
        expect([await terminal.run("restore", file, "--config", config, ...options), terminal.err]).toEqual([0, ""]);
        expect(ofOthers(home, NOBODY)).toEqual([]);
        expect(terminal.out).toContain(`Check it with: reveille check --config ${config}\n`);
      }
      chownSync(config, 0, NOBODY);
      chmodSync(config, 0o640);
      expect([await terminal.run("restore", file, "--config", config, "--force"), terminal.err]).toEqual([0, ""]);
      const restored = ["reveille.json5", "hooks/transforms/team", "hooks/transforms/team/a.mjs"].map((path) =>
        statSync(join(home, "gateway", path)),
      );
      expect(restored.map(({ gid, mode }) => [gid, mode & 0o777])).toEqual([
        [NOBODY, 0o640],
        [NOBODY, 0o750],
        [NOBODY, 0o640],
      ]);
      expect(readdirSync(join(home, "gateway"), { recursive: true })).toEqual(
        expect.arrayContaining(["reveille.json5", "hooks/transforms/team/a.mjs", "state/reveille.sqlite"]),
      );
    },
    60_000,
  );
});
