import { relative, resolve } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const ROOT = resolve(import.meta.dirname, "..");

/** What takes a minute or more of `npm run test:all` on two cores. */
const LONG: ReadonlySet<string> = new Set([
  "test/docs/blocks.test.ts",
  "test/integration/fuzz/fuzz.test.ts",
  "test/integration/transforms/hostile.test.ts",
  "test/conformance/store/sqlite-delivery-store.test.ts",
  "test/integration/package/containers.test.ts",
  "test/integration/package/packed.test.ts",
  "test/unit/tooling/bundle.test.ts",
  "test/integration/torture.test.ts",
  "test/conformance/channel/embedded-channels.test.ts",
  "test/unit/cli/doctor-gateway.test.ts",
  "test/integration/subscriptions/webhook.test.ts",
  "test/unit/transform/sandbox/pool.test.ts",
  "test/unit/transform/sandbox/pool.blame.test.ts",
  "test/integration/transforms/set-aside.test.ts",
  "test/integration/agents/persuaded.test.ts",
  "test/integration/package/systemd.test.ts",
  "test/integration/transforms/hostile-results.test.ts",
]);

/**
 * Begins with the files that take longest, so that none of them is alone at the end. Vitest knows the times of its last
 * run only, and goes by the sizes of files in a clone without one.
 */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification): boolean => LONG.has(relative(ROOT, moduleId));
    // oxlint-disable-next-line unicorn/no-array-sort -- a method of the sequencer
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
