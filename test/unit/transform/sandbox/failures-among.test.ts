import { describe, expect, it } from "vitest";
import { failuresAmong } from "../../../../src/transform/sandbox/failures-among.ts";
import type { SandboxLoadFailure } from "../../../../src/transform/sandbox/messages.ts";

interface File {
  readonly places: readonly number[];
  readonly does: "works" | "is broken" | "ends the process" | "breaks the next" | "breaks with that";
}

/** As a process loads files: one after the other, until it ends. */
function loader(calls: number[][] = []) {
  return (files: readonly File[]): Promise<readonly SandboxLoadFailure[]> => {
    calls.push(files.flatMap(({ places }) => places));
    const failures: SandboxLoadFailure[] = [];
    let isSpoilt = false;
    for (const { places, does } of files) {
      const fails = does === "is broken" || does === "ends the process" || (does === "breaks with that" && isSpoilt);
      if (fails) failures.push(...places.map((module) => ({ module, message: does })));
      if (does === "ends the process") return Promise.resolve(failures.slice(-places.length));
      isSpoilt ||= does === "breaks the next";
    }
    return Promise.resolve(failures);
  };
}

const filesThat = (...does: readonly File["does"][]): File[] => does.map((each, at) => ({ places: [at], does: each }));

async function failuresOf(files: readonly File[], calls?: number[][]): Promise<number[]> {
  const failures = await failuresAmong(files, { atOnce: 2, load: loader(calls) });
  return failures.map(({ module }) => module).toSorted((one, other) => one - other);
}

describe("failuresAmong", () => {
  it("loads files that work once, together", async () => {
    const calls: number[][] = [];
    expect(await failuresOf(filesThat("works", "works", "works"), calls)).toEqual([]);
    expect(calls).toEqual([[0, 1, 2]]);
  });

  it("does not take a file for broken that another one has broken", async () => {
    expect(await failuresOf(filesThat("breaks the next", "breaks with that", "works"))).toEqual([]);
    expect(await failuresOf(filesThat("breaks the next", "breaks with that", "is broken", "is broken"))).toEqual([
      2, 3,
    ]);
  });

  it("finds all that are broken, also behind one that ends the process", async () => {
    expect(await failuresOf(filesThat("works", "ends the process", "is broken", "ends the process"))).toEqual([
      1, 2, 3,
    ]);
    expect(await failuresOf(filesThat("is broken"))).toEqual([0]);
    const several: readonly File[] = [
      { places: [0, 2], does: "is broken" },
      { places: [1], does: "works" },
    ];
    expect(await failuresOf(several)).toEqual([0, 2]);
  });

  it("has nothing to do without files", async () => {
    expect(await failuresOf([])).toEqual([]);
  });
});
