/** A PostgreSQL server of its own for one benchmark: a new cluster in a temporary folder, `fsync` on. */
import { spawn, spawnSync } from "node:child_process";
import { chownSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface PostgresServer {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** On the core of the server that is measured, unless another list of cores is given; `undefined` where PostgreSQL is not installed. */
export async function startPostgres(cores = "0"): Promise<PostgresServer | undefined> {
  const programs = globSync("/usr/lib/postgresql/*/bin").toSorted().at(-1);
  if (programs === undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "reveille-bench-postgres-"));
  const user = unprivilegedUser();
  if (user) chownSync(folder, user.uid, user.gid);
  const data = join(folder, "data");
  const made = spawnSync(join(programs, "initdb"), ["-D", data, "-U", "bench", "--auth=trust", "-E", "UTF8"], {
    ...user,
    encoding: "utf8",
  });
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`);
  const port = await freePort();
  const options = ["-D", data, "-p", String(port), "-k", folder, "-c", "listen_addresses=127.0.0.1"];
  const pin = process.platform === "linux" ? ["taskset", "--cpu-list", cores] : [];
  const [command = "", ...args] = [...pin, join(programs, "postgres"), ...options];
  const server = spawn(command, args, { ...user, stdio: "ignore" });
  const exited = new Promise<void>((resolve) => server.once("exit", () => resolve()));
  const isReady = (): boolean =>
    spawnSync(join(programs, "pg_isready"), ["-h", "127.0.0.1", "-p", String(port)]).status === 0;
  const giveUpAt = Date.now() + 30_000;
  while (!isReady()) {
    if (Date.now() > giveUpAt || server.exitCode !== null) throw new Error("PostgreSQL did not start.");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return {
    url: `postgres://bench@127.0.0.1:${port}/postgres`,
    pid: server.pid!,
    async stop() {
      server.kill("SIGINT");
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Processor time in microseconds of the server and its processes so far, to a hundredth of a second each. */
export function postgresCpuMicros({ pid }: PostgresServer): number {
  let ticks = 0;
  for (const each of readdirSync("/proc")) {
    if (!/^\d+$/u.test(each)) continue;
    try {
      // What follows the name of the program, which is in parentheses: the state, the parent, ... (proc(5)).
      const fields = readFileSync(`/proc/${each}/stat`, "utf8").split(") ").at(-1)!.split(" ").map(Number);
      if (Number(each) === pid) ticks += fields.slice(11, 15).reduce((sum, field) => sum + field, 0);
      else if (fields[1] === pid) ticks += fields[11]! + fields[12]!;
    } catch {
      // The process ended while the list was read.
    }
  }
  return ticks * MICROS_A_TICK;
}

/** Linux counts hundredths for programs, whatever it counts itself. */
const MICROS_A_TICK = 10_000;

/** PostgreSQL refuses to run as root. */
function unprivilegedUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const idOf = (kind: string): number => Number(spawnSync("id", [kind, "postgres"], { encoding: "utf8" }).stdout);
  return { uid: idOf("-u"), gid: idOf("-g") };
}

export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}
