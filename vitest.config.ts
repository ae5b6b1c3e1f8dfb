import { join } from "node:path";
import { defineConfig } from "vitest/config";

/** What the examples import as strangers do. */
const own = {
  "reveille/testing": join(import.meta.dirname, "src/testing/describe-preset.ts"),
  reveille: join(import.meta.dirname, "src/index.ts"),
};

/**
 * `vitest run <path>` runs a part and measures nothing; only the full run (`npm run test:run`) is given
 * `--coverage`, and with it the thresholds.
 */
export default defineConfig({
  test: {
    pool: "forks",
    // The default leaves one core idle, and half of the tests wait for something.
    maxWorkers: "100%",
    environment: "node",
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
    // A second is not much on a machine that does something else as well.
    expect: { poll: { timeout: 15_000 } },
    restoreMocks: true,
    unstubEnvs: true,
    reporters: ["default", "./scripts/tally-reporter.ts"],
    projects: [
      {
        extends: true,
        test: { name: "unit", include: ["test/unit/**/*.test.ts"], testTimeout: 20_000 },
      },
      {
        extends: true,
        test: {
          name: "integration",
          include: ["test/{conformance,integration,docs}/**/*.test.ts"],
          testTimeout: 60_000,
        },
      },
      {
        extends: true,
        resolve: { alias: own },
        test: { name: "examples", include: ["examples/**/*.test.ts"], testTimeout: 20_000 },
      },
    ],
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts"],
      // Process and thread entries: they only start what is measured, and run outside the measured process.
      exclude: ["src/cli/main.ts", "src/**/*-worker.ts", "src/transform/sandbox/worker/guard-handles.ts"],
      reporter: ["text-summary"],
      thresholds: { lines: 95, branches: 90 },
    },
  },
});
