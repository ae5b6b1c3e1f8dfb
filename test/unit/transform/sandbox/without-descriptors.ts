import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Opens whatever may be opened, and closes it all again. */
const TAKE_ALL = `
  import { closeSync, openSync } from "node:fs";
  const taken = [];
  const fill = () => { try { for (;;) taken.push(openSync("/dev/null", "r")); } catch (error) { if (error.code !== "EMFILE") throw error; } };
  const release = () => { for (const descriptor of taken.splice(0)) closeSync(descriptor); };`;

/**
 * Evaluates an expression in a process of its own twice: while no file can be opened, `poor`, and then with
 * plenty, `rich`; an error is told by its fields, and its text as `said`. Rejects when the process crashes.
 */
export async function withoutDescriptors(
  prologue: string,
  expression: string,
): Promise<{ readonly poor: unknown; readonly rich: unknown }> {
  const script = `${TAKE_ALL}
    ${prologue}
    const attempt = async () => {
      try { return ${expression}; } catch (error) { return { ...error, said: String(error) }; }
    };
    fill();
    const poor = await attempt();
    // What has no file descriptor ends a little later.
    await new Promise((resolve) => setTimeout(resolve, 50));
    release();
    const rich = await attempt();
    console.log(JSON.stringify({ poor, rich }, (_, value) => value === undefined ? null : value));`;
  const args = ["-c", 'ulimit -n 200 && exec "$0" "$@"', process.execPath, "--input-type=module", "--eval", script];
  const { stdout } = await run("/bin/sh", args, { timeout: 60_000 });
  return JSON.parse(stdout) as { poor: unknown; rich: unknown };
}
