import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, copyFileSync, existsSync, globSync, readFileSync, statSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { ContainerRoot, readContainerfile } from "./container-steps.ts";
import { PackedReveille } from "./packed-reveille.ts";

const deploy = resolve(import.meta.dirname, "../../../deploy");
const isRoot = process.getuid?.() === 0;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

describe("deploy/Containerfile", () => {
  const packed = new PackedReveille();
  const root = new ContainerRoot(join(packed.folder, "root"), readContainerfile(join(deploy, "Containerfile")));
  const [user = ""] = root.values("USER");
  const uid = Number(user.split(":", 1)[0]);
  /** In a folder that the container's user may enter, wherever this repository is. */
  const node = join(packed.folder, "node");

  beforeAll(async () => {
    const archive = await packed.pack();
    await root.build(dirname(archive), (script) =>
      packed.run("sh", ["-ec", isRoot ? script : script.replace(/ && chown .*/u, "")]),
    );
    copyFileSync(process.execPath, node);
    chmodSync(packed.folder, 0o755);
  }, 300_000);
  afterAll(() => packed[Symbol.asyncDispose]());

  it("runs as a user of its own, who can write to /data alone", () => {
    expect(uid).toBeGreaterThan(1_000);
    expect(root.values("VOLUME")).toEqual(["/data"]);
    const installed = globSync("opt/**", { cwd: root.folder }).map((path) => statSync(join(root.folder, path)));
    expect(installed.length).toBeGreaterThan(100);
    expect(installed.every(({ mode }) => (mode & 0o022) === 0)).toBe(true);
    expect(statSync(join(root.folder, "data")).mode & 0o777).toBe(0o700);
    if (isRoot) expect(statSync(join(root.folder, "data")).uid).toBe(uid);
  });

  it("starts, is healthy, takes a call, and ends in order at SIGTERM, with nothing written outside of /data", async () => {
    const port = await freePort();
    const [, ...args] = [...root.command(), "--port", String(port)];
    expect(root.values("STOPSIGNAL")).toEqual(["SIGTERM"]);
    const options = { env: { PATH: process.env["PATH"], ...root.environment() }, cwd: join(root.folder, "data") };
    const before = Date.now();
    const gateway = spawn(node, args, {
      ...options,
      ...(isRoot && { uid, gid: uid }),
      stdio: ["ignore", "pipe", "pipe"],
    });
    onTestFinished(() => void gateway.kill("SIGKILL"));
    let log = "";
    gateway.stderr.on("data", (chunk: Buffer) => (log += chunk.toString()));
    await Promise.race([
      once(gateway.stdout, "data"),
      once(gateway, "exit").then(() => Promise.reject(new Error(log))),
    ]);

    const [, ...check] = root.healthcheck().map((argument) => argument.replace("18789", String(port)));
    expect(spawnSync(node, check, options).status).toBe(0);
    const [, token = ""] = /HOOK_TOKEN=(\S+)/u.exec(log) ?? [];
    const call = {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      body: '{"message":"hi"}',
    };
    expect((await fetch(`http://127.0.0.1:${port}/hooks/agent`, call)).status).toBe(202);

    gateway.kill("SIGTERM");
    expect(await once(gateway, "exit")).toEqual([0, null]);
    expect(spawnSync(node, check, options).status).toBe(1);
    expect(existsSync(join(root.folder, "data/state/reveille.sqlite"))).toBe(true);
    const changed = globSync("opt/**", { cwd: root.folder }).filter(
      (path) => statSync(join(root.folder, path)).mtimeMs > before,
    );
    expect(changed).toEqual([]);
  });
});

describe("deploy/reveille.service", () => {
  const unit = readFileSync(join(deploy, "reveille.service"), "utf8");
  const values = (key: string): string[] =>
    Array.from(unit.matchAll(new RegExp(`^${key}=(.*)$`, "gmu")), ([, value]) => value!);

  it("has an exposure of at most 3.0", () => {
    if (spawnSync("systemd-analyze", ["--version"]).error !== undefined)
      return expect(values("DynamicUser")).toEqual(["yes"]);
    const args = ["security", "--offline=true", "--threshold=30", join(deploy, "reveille.service")];
    const { status, stdout } = spawnSync("systemd-analyze", args, { encoding: "utf8" });
    expect({ status, stdout }).toMatchObject({ status: 0 });
  });

  it("starts the program that its installation puts there, and gives it longer than a shutdown takes", () => {
    expect(values("ExecStart")).toEqual([
      "/usr/bin/node --max-semi-space-size=16 /opt/reveille/lib/node_modules/reveille/dist/cli/main.js serve",
    ]);
    expect(Number(values("TimeoutStopSec")[0])).toBeGreaterThan(25);
  });

  it("bounds the memory of young objects as `npm start` and the container do", () => {
    const bounds = ["package.json", "deploy/reveille.service", "deploy/Containerfile"].map((file) =>
      readFileSync(join(deploy, "..", file), "utf8").match(/--max-semi-space-size=\d+/gu),
    );
    expect(bounds).toEqual([bounds[0], bounds[0], bounds[0]]);
    expect(bounds[0]).toHaveLength(1);
  });

  it("leaves the isolation of transforms and agents what it needs", () => {
    const namespaces = values("RestrictNamespaces")[0]!.split(" ");
    expect(namespaces).toEqual(expect.arrayContaining(["user", "pid", "net", "ipc", "mnt", "uts"]));
    expect(values("RestrictAddressFamilies")[0]).toMatch(/AF_UNIX.*AF_NETLINK/u);
    for (const key of [
      "MemoryDenyWriteExecute",
      "ProtectKernelTunables",
      "ProtectKernelLogs",
      "ProtectProc",
      "ProcSubset",
    ]) {
      expect({ key, values: values(key) }).toEqual({ key, values: [] });
    }
  });

  it("allows the system calls with which sandboxes are made", () => {
    if (spawnSync("systemd-analyze", ["--version"]).error !== undefined) return;
    const callsOf = (group: string): string[] => {
      if (!group.startsWith("@")) return [group];
      const text = execFileSync("systemd-analyze", ["syscall-filter", group], { encoding: "utf8" });
      const entries = Array.from(text.matchAll(/^ {4}([@\w]+)$/gmu), ([, entry]) => entry!);
      return entries.flatMap((entry) => callsOf(entry));
    };
    const [allowed = "", denied = ""] = values("SystemCallFilter");
    const calls = new Set(allowed.split(" ").flatMap((group) => callsOf(group)));
    for (const call of denied
      .slice(1)
      .split(" ")
      .flatMap((group) => callsOf(group)))
      calls.delete(call);
    const needed = [
      "clone",
      "clone3",
      "unshare",
      "setns",
      "mount",
      "umount2",
      "pivot_root",
      "prctl",
      "seccomp",
      "prlimit64",
      "setpriority",
      "memfd_create",
    ];
    expect(needed.filter((call) => !calls.has(call))).toEqual([]);
  });

  it("lets a process without any right still make the namespaces of a sandbox", () => {
    if (!isRoot) return;
    const dropped = [
      "--reuid",
      "65534",
      "--regid",
      "65534",
      "--clear-groups",
      "--no-new-privs",
      "--bounding-set=-all",
      "--inh-caps=-all",
    ];
    const sandbox = ["unshare", "--user", "--map-root-user", "--net", "--ipc", "--pid", "--fork", "true"];
    const asRoot = spawnSync("unshare", sandbox.slice(1));
    expect(spawnSync("setpriv", [...dropped, ...sandbox]).status).toBe(asRoot.status);
  });
});

describe("deploy/compose.yaml", () => {
  const file = parse(readFileSync(join(deploy, "compose.yaml"), "utf8"), { merge: true }) as {
    services: Record<string, Record<string, unknown>>;
    volumes: object;
    networks: object;
  };
  const { services } = file;
  const configuration = "./reveille.json5:/config/reveille.json5:ro,z";

  it("has two gateways with a state of their own, PostgreSQL, its tables, and a proxy that alone is public", () => {
    expect(Object.keys(services)).toEqual(["postgres", "migrate", "gateway-a", "gateway-b", "proxy"]);
    for (const name of ["gateway-a", "gateway-b"]) {
      expect(services[name]).toMatchObject({
        read_only: true,
        cap_drop: ["ALL"],
        restart: "always",
        volumes: [`${name}:/data`, configuration],
      });
    }
    expect(Object.keys(services).filter((name) => "ports" in services[name]!)).toEqual(["proxy"]);
  });

  it("names only files, volumes, networks and services that are there", () => {
    for (const service of Object.values(services)) {
      for (const volume of (service["volumes"] ?? []) as string[]) {
        const [source = ""] = volume.split(":", 1);
        if (source.startsWith("./")) expect(existsSync(join(deploy, source))).toBe(true);
        else expect(file.volumes).toHaveProperty(source);
      }
      for (const network of service["networks"] as string[]) expect(file.networks).toHaveProperty(network);
      for (const other of Object.keys(service["depends_on"] ?? {})) expect(services).toHaveProperty(other);
    }
  });

  it("has a configuration that is valid, with its secrets from the environment", async () => {
    const config = join(deploy, "reveille.json5");
    const tokens = {
      HOOK_TOKEN: "hook-token-of-the-compose-test-1",
      GATEWAY_TOKEN: "gateway-token-of-the-compose-test",
    };
    const env = { ...process.env, ...tokens, DATABASE_URL: "postgresql://reveille:p@postgres:5432/reveille" };
    const args = ["scripts/start.mjs", "check", "--config", config];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, {
      encoding: "utf8",
      cwd: resolve(deploy, ".."),
      env,
    });
    expect([status, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("is valid");
    expect(readFileSync(config, "utf8")).toContain("several: true");
    for (const name of Object.keys(tokens)) expect(services["gateway-a"]?.["environment"]).toHaveProperty(name);
  });

  it("lets calls of hooks in and nothing else, and asks /ready which gateway accepts calls", () => {
    const caddy = readFileSync(join(deploy, "Caddyfile"), "utf8");
    expect(caddy).toMatch(/handle \/hooks\/\* \{\s+reverse_proxy gateway-a:18789 gateway-b:18789 \{/u);
    expect(caddy).toContain("health_uri /ready");
    expect(caddy).toMatch(/handle \{\s+respond 404/u);
  });
});
