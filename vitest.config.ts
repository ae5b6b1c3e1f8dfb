import { existsSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { CHROMIUM } from "./test/browser/chromium.ts";
import { bundledPrograms } from "./scripts/bundled-programs.ts";
import LongestFirst from "./scripts/longest-first.ts";
import { POSTGRES_BIN } from "./test/fixtures/postgres/server.ts";

// The tests start threads and command lines from the sources. Node keeps the code that it makes of them here, and need
// not make it again for each: a third of the processor time of these tests.
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "node_modules/.cache/node");

/** The examples import the package by name, as strangers do. */
const packageNames = {
  "reveille/testing": join(import.meta.dirname, "src/testing/describe-preset.ts"),
  reveille: join(import.meta.dirname, "src/index.ts"),
};

/** Tests that replace a module with `vi.mock`: each file needs a process of its own. */
const MOCKS = ["test/unit/dispatch/run/retry.test.ts", "test/unit/core/boundary/wrap-untrusted.test.ts"];

/** The same among the suites that start gateways. */
const MOCKED_GATEWAYS = [
  "test/integration/{attempt-reasons,callback-reasons,canceled-states,reply-reasons,run-states}.test.ts",
];

/** Tests of the database: SQLite files that are synced to disk, and threads that write to them. */
const SQLITE = [
  "test/unit/storage/*.test.ts",
  "test/unit/storage/sqlite/**/*.test.ts",
  "test/unit/hosts/**/sqlite-*.test.ts",
  "test/conformance/{state,store}/sqlite-*.test.ts",
];

/** Tests with a PostgreSQL server. */
const POSTGRES_TESTS = ["test/conformance/{state,store}/postgres-*.test.ts", "test/integration/postgres/**/*.test.ts"];

/** Tests that start sandbox processes, command lines, watchers or whole gateways. */
const PROCESSES = [
  "test/unit/transform/{folder,sandbox}/**/*.test.ts",
  "test/unit/transform/load-in-sandbox.test.ts",
  "test/unit/cli/**/*.test.ts",
  "test/unit/tooling/**/*.test.ts",
  "test/unit/config/generated-files.test.ts",
  "test/unit/hosts/embedded/{gateway,plugins}/**/*.test.ts",
  "test/unit/hosts/embedded/agents/{acp-agents,tool-servers,workspace}.test.ts",
  "test/unit/hosts/embedded/{heartbeat,server}*.test.ts",
  "test/unit/hosts/embedded/sessions/**/*.test.ts",
  "test/unit/hosts/openclaw/{agents,channels,gateway,load-config,operator-route,sessions}*.test.ts",
];

/** Pages whose blocks are run: each starts gateways. */
const PAGES = ["test/docs/{blocks,first-start,type-check}.test.ts"];

/** One gateway from end to end, for the run before a commit. */
const SMOKE = "test/integration/http/hooks.test.ts";

/** Further tries of a test that starts processes or servers: a machine that stands still fails any of them now and then. */
const RETRIES = Number(process.env["TEST_RETRIES"] ?? 0);

/** Projects whose tests mostly wait. */
const WAITING = {
  // Waiting for a file, a process or a timer takes no core: more files at a time than there are cores.
  maxWorkers: 4,
  // Loading a gateway costs a second of a core, and these files leave nothing behind.
  isolate: false,
  retry: RETRIES,
  sequence: { groupOrder: 1 },
  testTimeout: 60_000,
};

/** The console in a real browser; left out, with a line that says so, where there is none. */
const BROWSER = [
  {
    extends: true as const,
    test: {
      name: "browser",
      include: ["test/browser/**/*.test.ts"],
      globalSetup: ["test/browser/install.ts", "test/fixtures/console-page.ts"],
      maxWorkers: 2,
      retry: RETRIES,
      sequence: { groupOrder: 2 },
      testTimeout: 60_000,
    },
  },
].filter(() => existsSync(CHROMIUM));
if (BROWSER.length === 0) {
  console.warn(
    `test/browser is left out: there is no browser at ${CHROMIUM}. Run apt-get install chromium, or set CHROMIUM to the path of another.`,
  );
}

/** The store in PostgreSQL; left out, with a line that says so, where it is not installed. */
const POSTGRES = [
  {
    extends: true as const,
    test: {
      name: "postgres",
      include: POSTGRES_TESTS,
      globalSetup: "test/fixtures/postgres/global-setup.ts",
      maxWorkers: 2,
      retry: RETRIES,
      sequence: { groupOrder: 3 },
      testTimeout: 120_000,
    },
  },
].filter(() => POSTGRES_BIN !== undefined);
if (POSTGRES.length === 0) {
  console.warn(
    "The tests of PostgreSQL are left out: it is not installed. Run apt-get install postgresql, or set POSTGRES_BIN to the folder of its initdb.",
  );
}

/**
 * `npm test` runs the projects `unit`, `mocks`, `docs`, `examples` and `smoke`; `npm run test:all` runs every
 * project and measures coverage. `vitest run <path>` runs a part of any project.
 */
export default defineConfig({
  plugins: [bundledPrograms()],
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
    unstubGlobals: true,
    reporters: ["default", "./scripts/tally-reporter.ts"],
    sequence: { sequencer: LongestFirst },
    projects: [
      ...BROWSER,
      ...POSTGRES,
      {
        extends: true,
        test: {
          name: "unit",
          include: [
            "test/unit/**/*.test.ts",
            "test/conformance/presets/*.test.ts",
            "test/conformance/store/memory-*.test.ts",
          ],
          exclude: [...MOCKS, ...SQLITE, ...PROCESSES],
          // A process for each file costs 0.4 s of a core, and these files leave nothing behind.
          isolate: false,
          testTimeout: 20_000,
        },
      },
      { extends: true, test: { name: "mocks", include: MOCKS, testTimeout: 20_000 } },
      {
        extends: true,
        test: { name: "docs", include: ["test/docs/**/*.test.ts"], exclude: PAGES, testTimeout: 20_000 },
      },
      {
        extends: true,
        resolve: { alias: packageNames },
        test: { name: "examples", include: ["examples/**/*.test.ts"], testTimeout: 20_000 },
      },
      { extends: true, test: { name: "smoke", include: [SMOKE], testTimeout: 60_000 } },
      {
        extends: true,
        test: {
          name: "sqlite",
          include: SQLITE,
          ...WAITING,
        },
      },
      {
        extends: true,
        test: {
          name: "processes",
          include: PROCESSES,
          ...WAITING,
          globalSetup: "test/fixtures/console-page.ts",
        },
      },
      {
        extends: true,
        test: {
          name: "gateways",
          include: ["test/integration/**/*.test.ts", "test/conformance/{channel,host}/**/*.test.ts", ...PAGES],
          exclude: [SMOKE, ...POSTGRES_TESTS, ...MOCKED_GATEWAYS],
          ...WAITING,
          globalSetup: "test/fixtures/archive-folder.ts",
        },
      },
      {
        extends: true,
        test: {
          name: "mocked-gateways",
          include: MOCKED_GATEWAYS,
          ...WAITING,
          isolate: true,
        },
      },
    ],
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts"],
      // Process and thread entries: they only start what is measured, and run outside the measured process.
      // The page runs in the browser that `test/browser` drives.
      exclude: [
        "src/console/app/**",
        "src/cli/main.ts",
        "src/**/*-worker.ts",
        "src/transform/sandbox/worker/guard-handles.ts",
      ],
      reporter: ["text-summary"],
      reportOnFailure: true,
      thresholds: { lines: 95, branches: 90 },
    },
  },
});
