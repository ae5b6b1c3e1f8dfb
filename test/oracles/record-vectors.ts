import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { afterAll, afterEach, beforeEach, expect, vi } from "vitest";
import type { RunnerTask } from "vitest";
import type { IncomingRequest } from "../../src/auth/verifier.ts";
import type { Preset } from "../../src/presets/preset.ts";
import { NOW, PUBLIC_URL } from "../../src/testing/preset-probe.ts";
import type { ProbeOptions } from "../../src/testing/preset-probe.ts";
import { accepts, vectorOf, writeVectors } from "../unit/presets/vector.ts";
import type { Vector } from "../unit/presets/vector.ts";

/** The verdicts on one request. */
export interface Verdicts {
  readonly we: boolean;
  readonly sdk: boolean;
}

export interface RecordOptions {
  /** Name of the file of vectors; absent: the preset's. */
  readonly name?: string;
  /** The text at a URL that a verification may fetch. */
  readonly fetch?: (url: string) => string | undefined;
}

type JudgeOptions = Pick<ProbeOptions, "secrets" | "settings" | "publicUrl">;

export interface VectorRecorder {
  /**
   * Asks the library and us about a call, and keeps the call with both verdicts. The library's clock stands
   * at the time of the call. The library refuses when it answers `false`, throws or rejects.
   */
  judge(call: IncomingRequest, options: JudgeOptions, library: () => unknown): Promise<Verdicts>;
  /** Keeps a call with what the library makes of it. */
  keep(call: IncomingRequest, options: JudgeOptions, made: Pick<Vector, "answer" | "reads">): void;
}

const packages = join(import.meta.dirname, "node_modules");
const folder = join(import.meta.dirname, "../fixtures/vectors");

/**
 * Records what a test file asks a sender's library. When all tests of the file have passed, the vectors are
 * written to `test/fixtures/vectors/`. The clock stands still, so that the same tests write the same file.
 * To be called at the top of a test file.
 */
export function recordVectors(
  preset: Preset,
  library: string,
  { name = preset.name, fetch = () => undefined }: RecordOptions = {},
): VectorRecorder {
  const vectors: Vector[] = [];
  const fetched: Record<string, string> = {};

  let file: RunnerTask | undefined;

  beforeEach(({ task }) => {
    file = task.file;
    vi.useFakeTimers({ toFake: ["Date"], now: NOW });
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  afterAll(() => {
    if (file === undefined || !hasPassed(file)) return;
    const text = writeVectors({
      preset: preset.name,
      sdk: { name: library, version: versionOf(library) },
      ...(Object.keys(fetched).length === 0 ? {} : { fetched }),
      vectors,
    });
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${name}.json`), text);
  });

  const known = new Proxy(fetched, {
    get(texts, url: string) {
      const text = fetch(url);
      if (text !== undefined) texts[url] = text;
      return text;
    },
  });
  const nameOfNext = (): string => {
    const { currentTestName = "" } = expect.getState();
    const same = vectors.filter((vector) => vector.name.replace(/ \(\d+\)$/, "") === currentTestName).length;
    return same === 0 ? currentTestName : `${currentTestName} (${same + 1})`;
  };
  const add = (vector: Vector): void => {
    const isKnown = vectors.some((each) => isDeepStrictEqual({ ...each, name: "" }, { ...vector, name: "" }));
    if (!isKnown) vectors.push(vector);
  };

  return {
    async judge(call, options, library) {
      const request = vectorOf(nameOfNext(), call, { publicUrl: PUBLIC_URL, ...options });
      const sdk = await saysYes(call.receivedAt, library);
      // We judge the request as it is read from the file.
      const we = await accepts(preset, JSON.parse(JSON.stringify(request)) as Vector, known);
      add({ ...request, sdk, ...(we === sdk ? {} : { reveille: we }) });
      return { we, sdk };
    },
    keep(call, options, made) {
      add({ ...vectorOf(nameOfNext(), call, { publicUrl: PUBLIC_URL, ...options }), ...made });
    },
  };
}

/** Whether all tests have been run, and none has failed. */
function hasPassed(task: RunnerTask): boolean {
  return task.type === "suite" ? task.tasks.every(hasPassed) : task.result?.state === "pass";
}

async function saysYes(now: number, library: () => unknown): Promise<boolean> {
  vi.setSystemTime(now);
  try {
    return (await library()) !== false;
  } catch {
    return false;
  } finally {
    vi.setSystemTime(NOW);
  }
}

function versionOf(library: string): string {
  const text = readFileSync(join(packages, library, "package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
