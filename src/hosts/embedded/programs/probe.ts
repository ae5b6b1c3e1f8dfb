/** Whether this machine can confine programs, tried for real. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { reasonOf } from "../../../core/reason-of.ts";
import { Output, Program } from "./program.ts";

const MAX_BYTES = 2_000;

/** The reason why programs cannot be confined here, and what to do; `undefined` when they can. */
export async function canConfine(): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), "reveille-confine-"));
  try {
    const program = await Program.start({
      config: { command: ["sh", "-c", "echo confined"], env: [], read: [], write: [], isConfined: true },
      cwd: folder,
      isReadOnly: true,
      home: join(folder, "home"),
      egress: [],
      ofGateway: [],
      variables: {},
    });
    const output = new Output(program.stdout, MAX_BYTES);
    const problems = new Output(program.stderr, MAX_BYTES);
    program.stdin.end();
    const { code } = await program.ended;
    if (code === 0 && (await output.whole()).trim() === "confined") return undefined;
    return `a program that is confined does not start here: ${problems.text.trim() || `status ${code}`}`;
  } catch (error) {
    return reasonOf(error);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
