import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "./temporary-folder.ts";

const program = fileURLToPath(new URL("./threads-of-sources.ts", import.meta.url));

/** What the program says, run with these arguments of Node. */
async function outputWith(...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [...args, program, temporaryFolder()]);
  return stdout;
}

// A process and a dozen threads, each of which strips the types of what it loads.
describe("startThread", { timeout: 60_000 }, () => {
  it("lets no WebAssembly code be collected while threads of the sources come and go", async () => {
    const [, withThreads = "nothing was said"] = (await outputWith("--trace-wasm-code-gc")).split("threads\n");
    expect(withThreads).not.toContain("nothing was said");
    expect(withThreads).not.toContain("Starting GC");
  });

  it("leaves what the host's process loads first out of its threads", async () => {
    const output = await outputWith("--import", "data:text/javascript,process.stdout.write('loaded\\n')");
    expect(output).toBe("loaded\nthreads\n");
  });
});
