import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const NEEDED = ["/usr/bin/podman", "/usr/bin/crun", "/usr/lib/podman/netavark", "/usr/sbin/iptables"];
/** Processes, mounts and network of a script are its own, and end with it. */
const CONFINED = ["--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc"];
const LIMIT_MS = 180_000;

/** True when {@link ContainerEngine} can run containers: for root, where podman and its parts are installed. */
export function canRunContainers(): boolean {
  if (process.getuid?.() !== 0 || !NEEDED.every((file) => existsSync(file))) return false;
  const probe = "ip link set lo up && ip link add probe type bridge";
  return spawnSync("unshare", [...CONFINED, "--net", "sh", "-ec", probe]).status === 0;
}

/** The content of an image that stands in for one of a registry. */
interface StandIn {
  /** Of this machine, by their place in the image; each comes with its libraries. */
  readonly programs: Readonly<Record<string, string>>;
  /** Puts further files below the image's root. */
  readonly fill?: (root: string) => void;
  /** Of its Containerfile, after the files were copied from `root/`. */
  readonly lines?: readonly string[];
}

/** Podman with a storage and networks of its own. */
export class ContainerEngine {
  readonly #folder: string;
  readonly #env: NodeJS.ProcessEnv;

  /** `folder` holds everything. */
  constructor(folder: string, env: NodeJS.ProcessEnv) {
    mkdirSync(folder);
    this.#folder = folder;
    const storage = join(folder, "storage.conf");
    const containers = join(folder, "containers.conf");
    writeFileSync(storage, `[storage]\ndriver = "overlay"\ngraphroot = "${folder}/graph"\nrunroot = "${folder}/run"\n`);
    // A machine for tests may not raise limits, nor make control groups.
    const lines = [
      "[containers]",
      'cgroups = "disabled"',
      'default_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]',
      "[engine]",
      'cgroup_manager = "cgroupfs"',
      'runtime = "crun"',
      'events_logger = "file"',
      "[network]",
      'network_backend = "netavark"',
      `network_config_dir = "${folder}/networks"`,
    ];
    writeFileSync(containers, `${lines.join("\n")}\n`);
    const files = { CONTAINERS_STORAGE_CONF: storage, CONTAINERS_CONF: containers };
    this.#env = { ...env, ...files, BUILDAH_ISOLATION: "chroot" };
  }

  /** Makes an image under the name that another one has in its registry, of files of this machine. */
  async standIn(name: string, { programs, fill, lines = [] }: StandIn): Promise<void> {
    const context = join(this.#folder, name.replaceAll(/\W/gu, "-"));
    const root = join(context, "root");
    for (const place of ["tmp", "etc", "root"]) mkdirSync(join(root, place), { recursive: true });
    for (const [place, program] of Object.entries(programs)) {
      copyInto(root, place, program);
      for (const library of librariesOf(program)) copyInto(root, library, library);
    }
    fill?.(root);
    writeFileSync(join(context, "Containerfile"), ["FROM scratch", "COPY root/ /", ...lines, ""].join("\n"));
    await this.run(`chmod 1777 ${root}/tmp; podman build --quiet --tag ${name} ${context}`);
  }

  /** Runs a script of a shell, on the network of the machine; rejects with what it printed when it fails. */
  run(script: string, cwd = this.#folder): Promise<string> {
    return this.#run(script, cwd, []);
  }

  /** The same on a network of its own, which has containers alone. Those that run at its end are killed. */
  runAlone(script: string, cwd = this.#folder): Promise<string> {
    return this.#run(`ip link set lo up\n${script}`, cwd, ["--net"]);
  }

  async #run(script: string, cwd: string, more: readonly string[]): Promise<string> {
    // Crun refuses a machine that has both versions of control groups. Names and addresses of containers are there.
    const setup = `umount /sys/fs/cgroup/unified 2> /dev/null || true
      mkdir -p /run/containers
      mount -t tmpfs tmpfs /run/containers`;
    const shell = spawn("unshare", [...CONFINED, ...more, "bash", "-ec", `${setup}\n${script}`], {
      cwd,
      env: this.#env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [shell.stdout, shell.stderr]) {
      stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
    }
    const timer = setTimeout(() => void shell.kill("SIGKILL"), LIMIT_MS);
    const [status] = (await once(shell, "close")) as [number | null];
    clearTimeout(timer);
    if (status !== 0) throw new Error(`${script}\nended with ${status}:\n${output}`);
    return output;
  }
}

/** Copies a file or a folder of this machine to a place below a root. */
export function copyInto(root: string, place: string, from: string): void {
  mkdirSync(dirname(join(root, place)), { recursive: true });
  cpSync(realpathSync(from), join(root, place), { recursive: true });
}

/** The files that the loader of this machine takes for a program. */
function librariesOf(program: string): readonly string[] {
  const { stdout } = spawnSync("ldd", [realpathSync(program)], { encoding: "utf8" });
  return Array.from(stdout.matchAll(/(?:^|\s)(\/\S+)/gmu), ([, file]) => file!);
}
