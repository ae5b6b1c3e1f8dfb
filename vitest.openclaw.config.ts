import { basename } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer } from "vitest/node";
import type { TestSpecification } from "vitest/node";

/**
 * One after the other in one installation. The host counts the turns that died with it as running for minutes, and
 * loads no plugin anew meanwhile: the suite that kills it is the last.
 */
const LAST = "crash.test.ts";

/** By name, so that the order is the same whatever took how long before. */
class SuitesInOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): string => `${basename(moduleId) === LAST} ${moduleId}`;
    return files.toSorted((one, other) => (place(one) < place(other) ? -1 : 1));
  }
}

/**
 * The suites inside the real OpenClaw: `npm run test:openclaw` installs it and runs them. One file at a
 * time, since a gateway needs two cores and a gigabyte for itself.
 */
export default defineConfig({
  test: {
    pool: "forks",
    environment: "node",
    include: ["test/openclaw/**/*.test.ts"],
    fileParallelism: false,
    retry: Number(process.env["TEST_RETRIES"] ?? 0),
    sequence: { sequencer: SuitesInOrder },
    testTimeout: 300_000,
    hookTimeout: 900_000,
    teardownTimeout: 60_000,
    reporters: ["default", "./scripts/tally-reporter.ts"],
  },
});
