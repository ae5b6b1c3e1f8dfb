import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { canRunContainers, ContainerEngine, copyInto } from "./container-engine.ts";
import { commandsOf } from "./page-commands.ts";
import { PackedReveille } from "./packed-reveille.ts";

const clone = resolve(import.meta.dirname, "../../..");
const UNTIL_READY = `for try in $(seq 150); do [ "$(curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:18789/ready)" = 200 ] && break; sleep 0.2; done`;
/** What a composition needs besides. */
const COMPOSED = ["/usr/bin/podman-compose", "/usr/bin/caddy", "/usr/lib/postgresql", "/usr/bin/curl"];

describe.skipIf(!canRunContainers())("the containers of the page on deploying", () => {
  const packed = new PackedReveille();
  const context = join(packed.folder, "context");
  const [, build = "", run = ""] = commandsOf("operate/deploy.md", "In a container");
  let engine: ContainerEngine;
  let built = "";

  beforeAll(async () => {
    const archive = await packed.pack();
    mkdirSync(context);
    cpSync(archive, join(context, "reveille-0.1.0.tgz"));
    cpSync(join(clone, "deploy"), join(context, "deploy"), { recursive: true });
    engine = new ContainerEngine(join(packed.folder, "engine"), packed.environment());
    await engine.standIn("docker.io/library/node:24-slim", nodeImage());
    built = await engine.run(build, context);
  }, 300_000);
  afterAll(() => packed[Symbol.asyncDispose]());

  it("builds the image with all that the Containerfile says", () => {
    expect(built).not.toMatch(/warning|ignored/u);
  });

  it("runs it with a read-only root, healthy, reachable under the published port, and stops it in order", async () => {
    const output = await engine.runAlone(
      `(${run}; echo "ended with $?") > run.log 2>&1 &
      ${UNTIL_READY}
      token=$(sed -n 's/.*HOOK_TOKEN=\\([^ ]*\\).*/\\1/p' run.log)
      curl -s http://127.0.0.1:18789/hooks/agent -H "authorization: Bearer $token" -H 'content-type: application/json' -d '{"message":"hi"}'; echo
      container=$(podman ps --quiet)
      podman healthcheck run $container && echo healthy
      podman exec $container node -e "require('node:fs').writeFileSync('/opt/x', '')" || true
      podman exec $container node -e "console.log(process.getuid())"
      podman stop --time 40 $container
      wait
      cat run.log`,
      packed.folder,
    );
    expect(output).toMatch(/"ok":true,"runId"/u);
    expect(output).toMatch(/^healthy$/mu);
    expect(output).toMatch(/EROFS|EACCES/u);
    expect(output).toMatch(/^10001$/mu);
    expect(output).toMatch(/"shutting down"[^]*^ended with 0$/mu);
  }, 120_000);

  it.skipIf(!COMPOSED.every((file) => existsSync(file)))(
    "composes two gateways, PostgreSQL and a proxy that speaks TLS and passes hooks alone",
    async () => {
      await engine.standIn("docker.io/library/postgres:17", postgresImage());
      await engine.standIn("docker.io/library/caddy:2", {
        programs: { "/usr/bin/caddy": "/usr/bin/caddy" },
        lines: [
          "ENV PATH=/usr/bin XDG_DATA_HOME=/data",
          'CMD ["caddy", "run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"]',
        ],
      });
      const [secrets = "", up = ""] = commandsOf("operate/deploy.md", "Two gateways, PostgreSQL and a proxy");
      const secret = (): string => randomBytes(24).toString("hex");
      // Podman of Debian 12 has no such command of its own yet.
      const compose = up.replace("podman compose", "podman-compose");
      const output = await engine.runAlone(
        `${secrets.replaceAll("=...", () => `=${secret()}`).replace("hooks.example.com", "localhost")}
        ${compose} > ../compose.log 2>&1 &
        call() { curl -s -k -o /dev/null -w '%{http_code}' "https://localhost$1" -H "authorization: Bearer $HOOK_TOKEN" -H 'content-type: application/json' -d '{"text":"hi"}'; }
        for try in $(seq 300); do [ "$(call /hooks/wake)" = 200 ] && break; sleep 0.2; done
        echo "wake $(call /hooks/wake)"
        # Without a body: Caddy answers before it has read one, and curl may then see no answer.
        echo "api $(curl -s -k -o /dev/null -w '%{http_code}' https://localhost/api/v1/deliveries)"
        podman logs deploy_migrate_1 2>&1 | tail -n 1
        podman stop --time 1 deploy_gateway-a_1 > /dev/null
        sleep 3
        echo "without a: $(call /hooks/wake)"
        podman exec deploy_gateway-b_1 node /opt/reveille/lib/node_modules/reveille/dist/cli/main.js deliveries list`,
        context,
      );
      expect(output).toMatch(/^wake 200$/mu);
      expect(output).toMatch(/^api 404$/mu);
      expect(output).toMatch(/^applied +\d{4}-/mu);
      expect(output).toMatch(/^without a: 200$/mu);
      expect(output.match(/dlv_\w+ .*wake/gu)?.length).toBeGreaterThanOrEqual(3);
    },
    240_000,
  );
});

const SHELL = { "/bin/sh": "/bin/sh", "/bin/mkdir": "/bin/mkdir", "/bin/chown": "/bin/chown", "/bin/rm": "/bin/rm" };

/** Node and npm of this machine, with what npm is configured to. */
function nodeImage(): Parameters<ContainerEngine["standIn"]>[1] {
  const npm = (...args: string[]): string => execFileSync("npm", args, { cwd: clone, encoding: "utf8" }).trim();
  const command = execFileSync("sh", ["-c", "command -v npm"], { encoding: "utf8" }).trim();
  const certificates = process.env["NODE_EXTRA_CA_CERTS"];
  return {
    programs: { ...SHELL, "/usr/local/bin/node": process.execPath, "/usr/bin/env": "/usr/bin/env" },
    fill(root) {
      copyInto(root, "/usr/local/lib/node_modules/npm", dirname(dirname(realpathSync(command))));
      symlinkSync("../lib/node_modules/npm/bin/npm-cli.js", join(root, "usr/local/bin/npm"));
      const configs = [npm("config", "get", "globalconfig"), npm("config", "get", "userconfig")];
      const known = configs.filter((file) => existsSync(file)).map((file) => readFileSync(file, "utf8"));
      writeFileSync(join(root, "root/.npmrc"), [...known, `registry=${npm("config", "get", "registry")}`].join("\n"));
      if (certificates) copyInto(root, "/etc/extra-certificates.pem", certificates);
    },
    lines: [
      "ENV PATH=/usr/local/bin:/usr/bin:/bin",
      ...(certificates ? ["ENV NODE_EXTRA_CA_CERTS=/etc/extra-certificates.pem"] : []),
    ],
  };
}

/** PostgreSQL of this machine, which makes its database at the first start, as the public image does. */
function postgresImage(): Parameters<ContainerEngine["standIn"]>[1] {
  const version = readdirSync("/usr/lib/postgresql").at(-1)!;
  const bin = `/usr/lib/postgresql/${version}/bin`;
  const programs = ["initdb", "postgres", "pg_isready"].map((name) => [`${bin}/${name}`, `${bin}/${name}`]);
  return {
    programs: { ...SHELL, ...(Object.fromEntries(programs) as Record<string, string>) },
    fill(root) {
      copyInto(root, `/usr/lib/postgresql/${version}/lib`, `/usr/lib/postgresql/${version}/lib`);
      copyInto(root, `/usr/share/postgresql/${version}`, `/usr/share/postgresql/${version}`);
      copyInto(root, "/usr/share/zoneinfo", "/usr/share/zoneinfo");
      mkdirSync(join(root, "var/lib/postgresql/data"), { recursive: true });
      writeFileSync(join(root, "etc/passwd"), "postgres:x:999:999::/tmp:/bin/sh\n");
      writeFileSync(join(root, "start"), START_POSTGRES, { mode: 0o755 });
    },
    lines: [
      "COPY --chown=999:999 root/var/lib/postgresql/ /var/lib/postgresql/",
      `ENV PATH=${bin}:/usr/bin:/bin PGHOST=/tmp PGDATA=/var/lib/postgresql/data/main`,
      "USER 999",
      "VOLUME /var/lib/postgresql/data",
      'ENTRYPOINT ["/start"]',
    ],
  };
}

const START_POSTGRES = `#!/bin/sh
set -e
if [ ! -f $PGDATA/PG_VERSION ]; then
  echo "$POSTGRES_PASSWORD" > /tmp/password
  initdb --username=$POSTGRES_USER --pwfile=/tmp/password --auth=scram-sha-256
  echo "host all all all scram-sha-256" >> $PGDATA/pg_hba.conf
  echo "CREATE DATABASE $POSTGRES_DB" | postgres --single postgres
fi
exec postgres -c listen_addresses='*' -c unix_socket_directories=/tmp
`;
