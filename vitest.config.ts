import { defineConfig } from "vitest/config";

/**
 * `vitest run <path>` runs a part and measures nothing; only the full run (`npm run test:run`) is given
 * `--coverage`, and with it the thresholds.
 */
export default defineConfig({
  test: {
    pool: "forks",
    environment: "node",
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
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
    ],
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts"],
      // Process and thread entries: they only start what is measured, and run outside the measured process.
      exclude: ["src/cli/main.ts", "src/**/*-worker.ts"],
      reporter: ["text-summary"],
      thresholds: { lines: 95, branches: 90 },
    },
  },
});
