import { join } from "node:path";
import { defineConfig } from "vitest/config";

const root = join(import.meta.dirname, "../..");

/** `npm run test:acp`: a real agent, which starts for several seconds. */
export default defineConfig({
  root,
  test: {
    include: ["test/acp/**/*.test.ts"],
    hookTimeout: 120_000,
    testTimeout: 180_000,
    reporters: ["default", "./scripts/tally-reporter.ts"],
  },
});
