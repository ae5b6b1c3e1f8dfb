import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadModules } from "../../../../../src/transform/sandbox/worker/load-modules.ts";
import type { LoadedModules } from "../../../../../src/transform/sandbox/worker/load-modules.ts";
import { CurrentWork } from "../../../../../src/transform/sandbox/worker/current-work.ts";

describe("loadModules", () => {
  let path: string;

  beforeEach(() => (path = realpathSync(mkdtempSync(join(tmpdir(), "reveille-modules-")))));
  afterEach(() => rmSync(path, { recursive: true }));

  async function load(
    files: Readonly<Record<string, string>>,
    exports: readonly (readonly [string, string | null])[],
    {
      underWay = new CurrentWork(),
      onLoading = () => {},
    }: { underWay?: CurrentWork; onLoading?: (module: number) => void } = {},
  ): Promise<LoadedModules> {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
    const modules = exports.map(([file, name]) => ({ file, export: name }));
    const folder = { path, name: "hooks/transforms" };
    return await loadModules({ do: "load", folder, modules, maxResultBytes: 1 }, { current: underWay, onLoading });
  }

  it("loads each file once, and names the next module", async () => {
    const told: number[] = [];
    const { transforms, failures } = await load(
      {
        "a.ts":
          "import { clip } from 'reveille'; let n = 0; export const one = () => ++n; export default () => clip('abc', 2) + ++n;",
      },
      [
        ["a.ts", "one"],
        ["a.ts", null],
      ],
      { onLoading: (module) => told.push(module) },
    );
    expect(failures).toEqual([]);
    expect(transforms.map((transform) => transform?.({} as never))).toEqual([1, "a…2"]);
    expect(told).toEqual([0, 1]);
  });

  it("tries every module, and says why one failed, with its place", async () => {
    const { transforms, failures } = await load(
      { "bad.ts": "const n: number = 1;   throw new Error('bad');", "good.ts": "export default () => null;" },
      [
        ["bad.ts", null],
        ["good.ts", null],
        ["good.ts", "other"],
        ["bad.ts", "other"],
      ],
    );
    const bad = "hooks/transforms/bad.ts:1:30: throws while it is loaded: Error: bad";
    expect(failures).toEqual([
      { module: 0, message: bad },
      { module: 2, message: 'hooks/transforms/good.ts exports nothing named "other"; it exports default' },
      { module: 3, message: bad },
    ]);
    expect(transforms.map((transform) => typeof transform)).toEqual([
      "undefined",
      "function",
      "undefined",
      "undefined",
    ]);
  });

  it("fails the module that is loading with its uncaught error, and no module afterwards", async () => {
    const underWay = new CurrentWork();
    const told: boolean[] = [];
    Reflect.set(globalThis, "arrive", (error: unknown) => told.push(underWay.fail(error)));
    const hangs = "setTimeout(() => arrive(new Error('in a timer')), 20); await new Promise(() => {});";
    const loading = load({ "hangs.mjs": hangs }, [["hangs.mjs", null]], { underWay });
    expect(underWay.fail(new Error("from elsewhere"))).toBe(false);
    const { failures } = await loading;
    Reflect.deleteProperty(globalThis, "arrive");
    expect(told).toEqual([true]);
    expect(failures).toEqual([
      { module: 0, message: "hooks/transforms/hangs.mjs:1:25: throws while it is loaded: Error: in a timer" },
    ]);
    expect(underWay.fail(new Error("later"))).toBe(false);
  });
});
