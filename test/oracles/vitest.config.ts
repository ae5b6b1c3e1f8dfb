import { join } from "node:path";
import { defineConfig } from "vitest/config";

/** The presets beside the libraries of their senders: `npm run oracles`. */
export default defineConfig({
  test: {
    root: import.meta.dirname,
    pool: "forks",
    environment: "node",
    include: ["*.test.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    restoreMocks: true,
    reporters: ["default", join(import.meta.dirname, "../../scripts/tally-reporter.ts")],
  },
});
