import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const OVERLAY = `
  mount -t tmpfs -o size=1g tmpfs /mnt
  mkdir /mnt/upper /mnt/scratch /mnt/root
  mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/scratch /mnt/root`;
/** The mounts of the script are its own, and end with it. */
const MOUNTS = ["--mount", "--propagation", "private", "sh", "-ec"];
const LIMIT_MS = 120_000;

/** True when {@link runBooted} can boot a system: for root, where Debian's `systemd-container` is. */
export function canBoot(): boolean {
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/systemd-nspawn")) return false;
  return spawnSync("unshare", [...MOUNTS, OVERLAY]).status === 0;
}

interface BootOptions {
  /** The system has it as `/work`. */
  readonly folder: string;
  /** A script before the boot, with the network of the machine; the system's root is `$root`. */
  readonly prepare: string;
  readonly env: NodeJS.ProcessEnv;
}

/** The status of a command, and what it printed. */
export interface Ran {
  readonly status: number;
  readonly output: string;
}

/**
 * Boots systemd as process 1 of a container without a network, on the files of this machine; what it writes is gone
 * afterwards. Runs each command there by a shell of its own in `/work`, one after the other, whatever their status.
 */
export async function runBooted(
  commands: readonly string[],
  { folder, prepare, env }: BootOptions,
): Promise<readonly Ran[]> {
  const lines = commands.map(
    (command, at) => `(cd /work; ${command}\n) > /work/${at}.out 2>&1 < /dev/null; echo $? > /work/${at}.status`,
  );
  writeFileSync(join(folder, "commands.sh"), `#!/bin/sh\n${lines.join("\n")}\n`, { mode: 0o755 });
  const script = `${OVERLAY}
    root=/mnt/root
    ${prepare}
    exec systemd-nspawn --quiet --register=no --keep-unit --machine=reveille-test --directory=$root --private-network \\
      --bind=${folder}:/work --boot systemd.run=/work/commands.sh systemd.run_success_action=exit \\
      systemd.run_failure_action=exit systemd.mask=systemd-networkd-wait-online.service`;
  const system = spawn("unshare", [...MOUNTS, script], { env, stdio: ["ignore", "pipe", "pipe"] });
  let log = "";
  for (const stream of [system.stdout, system.stderr]) stream.on("data", (chunk: Buffer) => (log += chunk.toString()));
  const timer = setTimeout(() => void system.kill("SIGKILL"), LIMIT_MS);
  const [status] = (await once(system, "close")) as [number | null];
  clearTimeout(timer);
  if (status !== 0) throw new Error(`The system ended with ${status}:\n${log}`);
  return commands.map((_, at) => ({
    status: Number(readFileSync(join(folder, `${at}.status`), "utf8")),
    output: readFileSync(join(folder, `${at}.out`), "utf8"),
  }));
}
