import { defineConfig } from "vitest/config";

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
    testTimeout: 300_000,
    hookTimeout: 900_000,
    teardownTimeout: 60_000,
    reporters: ["default", "./scripts/tally-reporter.ts"],
  },
});
