import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "./temporary-folder.ts";

const program = fileURLToPath(new URL("./threads-of-sources.ts", import.meta.url));

describe("startThread", () => {
  it("lets no WebAssembly code be collected while threads of the sources come and go", async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      "--trace-wasm-code-gc",
      program,
      temporaryFolder(),
    ]);
    const [, withThreads = "nothing was said"] = stdout.split("threads\n");
    expect(withThreads).not.toContain("nothing was said");
    expect(withThreads).not.toContain("Starting GC");
  });
});
