import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { parse } from "yaml";
import { readDocPage } from "../docs/doc-blocks.ts";
import { RawConnection } from "../unit/hosts/embedded/server/raw-connection.ts";
import { GatewayProcess } from "./gateway-process.ts";

const PROGRAMS = { nginx: "/usr/sbin/nginx", caddy: "/usr/bin/caddy" } as const;
type Proxy = keyof typeof PROGRAMS;
const HERE = (["nginx", "caddy"] as const).filter((proxy) => existsSync(PROGRAMS[proxy]));
for (const proxy of ["nginx", "caddy"] as const) {
  if (!HERE.includes(proxy)) console.warn(`The recipe of ${proxy} is not tested: apt-get install ${proxy}.`);
}
const TOKEN = "gateway-token-of-the-integration-tests";

let folder: string;
let gateway: GatewayProcess;
let child: ChildProcess | undefined;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "reveille-proxy-"));
  gateway = new GatewayProcess({
    gateway: { auth: { token: TOKEN }, trustedProxies: ["127.0.0.1"], shutdownSeconds: 5 },
  });
  await gateway.start();
});
afterEach(async () => {
  if (child !== undefined && child.exitCode === null) {
    const gone = new Promise((resolve) => child?.once("exit", resolve));
    child.kill("SIGTERM");
    await gone;
  }
  child = undefined;
  await gateway.close();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** A recipe of the page, in front of the gateway of this test, without TLS. */
function recipe(file: string, port: number): string {
  const block = readDocPage("docs/operate/expose.md").blocks.find((each) => each.file === file);
  return block!.text
    .replaceAll("127.0.0.1:18789", new URL(gateway.url).host)
    .replace("listen 443 ssl;", `listen 127.0.0.1:${port};`)
    .replaceAll(/^ *ssl_.*\n/gmu, "")
    .replace(/^hooks\.example\.com \{/mu, `http://127.0.0.1:${port} {`);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Starts a proxy with its recipe; resolves with its port once it answers. */
async function start(proxy: Proxy): Promise<number> {
  const port = await freePort();
  const file = join(folder, proxy);
  if (proxy === "nginx") {
    const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
      (name) => `${name}_temp_path ${folder}/${name};`,
    );
    const user = process.getuid?.() === 0 ? "user root;" : "";
    const main = `${user} daemon off; pid ${folder}/pid; error_log stderr; events {}`;
    writeFileSync(file, `${main} http { access_log off; ${paths.join(" ")}\n${recipe("nginx.conf", port)}}\n`);
  } else {
    writeFileSync(file, `{\n  admin off\n  auto_https off\n}\n${recipe("Caddyfile", port)}`);
  }
  mkdirSync(join(folder, "home"));
  const args = proxy === "nginx" ? ["-p", folder, "-c", file] : ["run", "--config", file, "--adapter", "caddyfile"];
  let said = "";
  child = spawn(PROGRAMS[proxy], args, { env: { PATH: process.env["PATH"], HOME: join(folder, "home") } });
  child.stderr?.on("data", (chunk: Buffer) => (said += chunk.toString()));
  child.stdout?.resume();
  await vi.waitFor(async () => {
    if (child?.exitCode !== null) throw new Error(said);
    expect((await fetch(`http://127.0.0.1:${port}/elsewhere`)).status).toBe(404);
  }, 20_000);
  return port;
}

describe.each(HERE)("the recipe of %s", (proxy) => {
  it("passes on calls of hooks with the caller's address, and nothing else of the gateway", async () => {
    const port = await start(proxy);
    const url = `http://127.0.0.1:${port}`;
    const authorization = "Bearer hook-token-of-the-integration-tests";
    const headers = { authorization, "content-type": "application/json", "x-forwarded-for": "198.51.100.1" };
    const body = JSON.stringify({ text: "x".repeat(200_000) });
    expect((await fetch(`${url}/hooks/wake`, { method: "POST", headers, body: '{"text":"x"}' })).status).toBe(200);
    const large = await fetch(`${url}/hooks/wake`, { method: "POST", headers, body });
    expect([200, 400, 413]).toContain(large.status);
    expect(await large.json()).toHaveProperty("ok");
    // What the caller claims to be is not in the log.
    await fetch(`${url}/hooks/wake`, { method: "POST", headers: { ...headers, authorization: "Bearer wrong" } });
    await vi.waitFor(() => expect(gateway.log).toMatch(/"client":"127\.0\.0\.1"/u), 10_000);
    expect(gateway.log).not.toContain("198.51.100.1");

    const paths =
      "/ /health /ready /metrics /console/ /api/v1/status /hooks/../api/v1/status /hooks/%2e%2e/api/v1/status";
    const tricky =
      "/api/v1/../../hooks/../api/v1/status /api/v1/status/../../../hooks/x /console/../hooks/x //api/v1/status /hooks/..%2fapi/v1/status";
    for (const path of `${paths} ${tricky}`.split(" ")) {
      const connection = await RawConnection.open(port);
      connection.send(
        `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${TOKEN}\r\nConnection: close\r\n\r\n`,
      );
      await vi.waitFor(() => expect(connection.ended).toBe(true), 10_000);
      expect([path, connection.received.split("\r\n")[0]]).toEqual([path, expect.stringMatching(/ 40[045] /u)]);
      expect(connection.received).not.toMatch(/"ready"|freeDiskBytes|<html lang/u);
    }
  }, 60_000);
});

describe("the recipe of Traefik", () => {
  it("is YAML, and leads only what is below the prefix to the gateway", () => {
    const { http } = parse(recipe("traefik.yaml", 0)) as {
      http: { routers: Record<string, { rule: string; service: string }>; services: Record<string, unknown> };
    };
    expect(Object.values(http.routers)).toEqual([
      expect.objectContaining({
        rule: expect.stringContaining("PathPrefix(`/hooks/`)") as string,
        service: "reveille",
      }),
    ]);
    expect(http.services["reveille"]).toEqual({ loadBalancer: { servers: [{ url: gateway.url }] } });
  });
});
