import { writeFileSync } from "node:fs";
import type { Reporter, SerializedError, TestModule } from "vitest/node";

/**
 * Counts a finished run in one line, `N passed, N failed`, and writes it to the file that the environment
 * variable `TEST_TALLY_FILE` names; without that variable it counts nothing. A test file that could not be
 * loaded, an error outside a test, and a run that was cut short count as failed. Names each test that passed only
 * when it was tried again: `TEST_RETRIES` allows that. Writes the files with a failed test, a line each, to the file
 * that `TEST_FAILED_FILE` names, unless something failed outside of them.
 */
export default class TallyReporter implements Reporter {
  onTestRunEnd(
    testModules: readonly TestModule[],
    unhandledErrors: readonly SerializedError[],
    reason: "passed" | "failed" | "interrupted",
  ): void {
    for (const test of testModules.flatMap((testModule) => [...testModule.children.allTests()])) {
      if (test.diagnostic()?.flaky === true)
        console.warn(`passed when tried again: ${test.module.relativeModuleId} > ${test.fullName}`);
    }
    const { TEST_FAILED_FILE: failedFile, TEST_TALLY_FILE: tallyFile } = process.env;
    if (failedFile && unhandledErrors.length === 0) {
      const failed = testModules
        .filter((testModule) => !testModule.ok())
        .map((testModule) => testModule.relativeModuleId);
      writeFileSync(failedFile, [...new Set(failed)].map((file) => `${file}\n`).join(""));
    }
    if (tallyFile === undefined || tallyFile === "") return;
    let passed = 0;
    let failed = unhandledErrors.length;
    for (const testModule of testModules) {
      failed += testModule.errors().length;
      for (const suite of testModule.children.allSuites()) failed += suite.errors().length;
      for (const test of testModule.children.allTests()) {
        const { state } = test.result();
        if (state === "passed") passed += 1;
        else if (state !== "skipped") failed += 1;
      }
    }
    if (reason !== "passed" && failed === 0) failed = 1;
    writeFileSync(tallyFile, `${passed} passed, ${failed} failed\n`);
  }
}
