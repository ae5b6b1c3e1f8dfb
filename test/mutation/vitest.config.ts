import { join } from "node:path";
import { defineConfig } from "vitest/config";

/** The tests that judge the mutants of `src/auth`: `npm run mutation`. */
export default defineConfig({
  test: {
    root: join(import.meta.dirname, "../.."),
    environment: "node",
    include: ["test/unit/auth/**/*.test.ts"],
    testTimeout: 20_000,
  },
});
