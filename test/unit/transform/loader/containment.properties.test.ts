import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve, sep } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { containedPath } from "../../../../src/transform/loader/containment.ts";

interface Entry {
  /** Relative to the outer folder, which holds `root` and `out`. */
  readonly path: string;
  readonly make: "file" | "folder" | { readonly link: string; readonly isAbsolute: boolean };
}

const name = fc.constantFrom("a", "b", "c");
const step = fc.oneof({ weight: 4, arbitrary: name }, { weight: 2, arbitrary: fc.constantFrom("..", ".") });
const way = fc.array(step, { minLength: 1, maxLength: 5 }).map((steps) => steps.join("/"));
const place = fc.tuple(fc.constantFrom("root", "root", "out"), fc.array(name, { minLength: 1, maxLength: 3 }));
const target = fc.oneof(way, fc.constantFrom("root", "out", "root/a", "out/a", "../out", "../../out/a", "a/b"));
const entry: fc.Arbitrary<Entry> = fc.record({
  path: place.map(([top, names]) => [top, ...names].join("/")),
  make: fc.oneof(
    fc.constant("file" as const),
    fc.constant("folder" as const),
    fc.record({ link: target, isAbsolute: fc.boolean() }),
  ),
});
const tree = fc.array(entry, { maxLength: 12 });
const given = fc.oneof(
  way,
  way,
  target,
  target.map((path) => `ABSOLUTE/${path}`),
);

/** Makes what can be made; an entry below a file, or over another, is left out. */
function build(outer: string, entries: readonly Entry[]): void {
  mkdirSync(join(outer, "root"));
  mkdirSync(join(outer, "out"));
  for (const { path, make } of entries) {
    const full = join(outer, path);
    try {
      mkdirSync(dirname(full), { recursive: true });
      if (make === "file") writeFileSync(full, "", { flag: "wx" });
      else if (make === "folder") mkdirSync(full);
      else symlinkSync(make.isAbsolute ? join(outer, make.link) : make.link, full);
    } catch {
      continue;
    }
  }
}

function withTree(entries: readonly Entry[], check: (outer: string) => void): void {
  const outer = realpathSync(mkdtempSync(join(tmpdir(), "reveille-trees-")));
  try {
    build(outer, entries);
    check(outer);
  } finally {
    rmSync(outer, { recursive: true, force: true });
  }
}

/** Kept apart from the code's own comparison. */
function isBelow(folder: string, path: string): boolean {
  return path === folder || path.startsWith(`${folder}${sep}`);
}

/** What is there of a path; the rest must not be there as a link either. */
function existingPart(path: string): string {
  if (existsSync(path)) return path;
  expect(lstatSync(path, { throwIfNoEntry: false })).toBeUndefined();
  return existingPart(dirname(path));
}

describe("containedPath, over random trees with symbolic links", () => {
  it("returns only paths whose real path is inside, and refuses no existing one that is", () => {
    const taken = { existing: 0, missing: 0, refused: 0 };
    fc.assert(
      fc.property(tree, fc.array(given, { minLength: 10, maxLength: 20 }), (entries, texts) => {
        withTree(entries, (outer) => {
          const root = join(outer, "root");
          for (const text of texts) {
            const path = resolve(root, text.replace("ABSOLUTE", outer));
            const result = containedPath(root, text.replace("ABSOLUTE", outer));
            if (result.ok) {
              const existing = existingPart(result.path);
              expect(realpathSync(existing)).toBe(existing);
              expect([root, existing, isBelow(root, existing)]).toEqual([root, existing, true]);
              expect([root, result.path, isBelow(root, result.path)]).toEqual([root, result.path, true]);
            }
            const isInside = existsSync(path) && isBelow(root, path) && isBelow(root, realpathSync(path));
            if (isInside) expect(result).toEqual({ ok: true, path: realpathSync(path) });
            taken[isInside ? "existing" : result.ok ? "missing" : "refused"] += 1;
          }
        });
      }),
      { numRuns: 120 },
    );
    for (const count of Object.values(taken)) expect(count).toBeGreaterThan(100);
  });

  it("never throws, whatever text is given", () => {
    withTree([{ path: "root/a", make: "file" }], (outer) => {
      const root = join(outer, "root");
      fc.assert(
        fc.property(fc.string({ unit: "binary" }), (text) => {
          const result = containedPath(root, text);
          if (result.ok) expect(isBelow(root, result.path)).toBe(true);
        }),
        { numRuns: 300 },
      );
    });
  });
});
