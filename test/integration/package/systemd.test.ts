import { cpSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { canBoot, type Ran, runBooted } from "./booted-system.ts";
import { commandsOf } from "./page-commands.ts";
import { PackedReveille } from "./packed-reveille.ts";

const clone = resolve(import.meta.dirname, "../../..");

const READY = `node -e "fetch('http://127.0.0.1:18789/ready').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"`;
const UNTIL_READY = `for try in $(seq 100); do ${READY} && exit 0; sleep 0.1; done; exit 1`;
const CALL = `
  token=$(journalctl --unit reveille --output cat | sed -n 's/.*HOOK_TOKEN=\\([^ ]*\\).*/\\1/p' | head -n 1)
  node -e "fetch('http://127.0.0.1:18789/hooks/agent', {
    method: 'POST',
    headers: { authorization: 'Bearer ' + process.argv[1], 'content-type': 'application/json' },
    body: JSON.stringify({ message: 'hi' }),
  }).then(({ status }) => console.log(status))" "$token"`;

const TRANSFORM = `
  folder=/var/lib/private/reveille
  mkdir -p $folder/hooks/transforms
  echo 'export default () => ({ kind: "wake", text: "made" })' > $folder/hooks/transforms/make.mjs
  mapping='[{ match: { path: "made" }, action: "wake", transform: { module: "make.mjs" } }]'
  /opt/reveille/bin/reveille config set hooks.mappings "$mapping" --config $folder/reveille.json5
  chown -R --reference=$folder $folder`;
const ISOLATION = "journalctl --unit reveille --output cat --grep isolat";

describe.skipIf(!canBoot())("the service of the page on deploying, on a system that systemd runs", () => {
  const packed = new PackedReveille();
  const [install = "", copy = "", enable = "", log = "", list = "", doctor = ""] = commandsOf(
    "operate/deploy.md",
    "As a service of systemd",
  );
  let results: ReadonlyMap<string, Ran>;

  function ran(command: string): Ran {
    return results.get(command)!;
  }

  beforeAll(async () => {
    cpSync(await packed.pack(), join(packed.folder, "reveille-0.1.0.tgz"));
    cpSync(join(clone, "deploy"), join(packed.folder, "deploy"), { recursive: true });
    const script = [copy, enable, UNTIL_READY, CALL, log, list, TRANSFORM];
    script.push("systemctl start dbus", doctor, "systemctl show --property=ActiveState,NRestarts reveille");
    script.push("systemctl restart reveille && systemctl is-active reveille");
    script.push(
      UNTIL_READY,
      ISOLATION,
      "stat --format '%a %U' /var/lib/private/reveille /var/lib/private/reveille/reveille.json5",
    );
    script.push("systemctl stop reveille", "journalctl --unit reveille --output cat | tail -n 3");
    const all = await runBooted(script, {
      folder: packed.folder,
      prepare: `
        cp --dereference ${process.execPath} $root/usr/bin/node
        cd ${packed.folder}
        ${install.replace("/opt/reveille", "$root/opt/reveille")}`,
      env: packed.environment(),
    });
    results = new Map(script.map((command, at) => [command, all[at]!]));
  }, 300_000);
  afterAll(() => packed[Symbol.asyncDispose]());

  it("is enabled, takes a call, and its commands end well", () => {
    expect([...results].filter(([, { status }]) => status !== 0)).toEqual([]);
    expect(ran(enable).output).toContain("multi-user.target.wants/reveille.service");
    expect(ran(CALL).output.trim()).toBe("202");
    expect(ran(log).output).toContain("Reveille is listening on http://127.0.0.1:18789");
    expect(ran(list).output).toMatch(/dlv_\w+ .* agent +(?:done|running|queued)/u);
    expect(ran("systemctl show --property=ActiveState,NRestarts reveille").output).toMatch(
      /NRestarts=0\nActiveState=active/u,
    );
  });

  it("isolates transforms by namespaces under its own rules", () => {
    expect(ran(ISOLATION).output).toContain('"isolation":"network and processes by namespaces');
    expect(ran(doctor).output).toMatch(/ok +transforms +cannot reach the network: network namespace/u);
  });

  it("keeps its files to its user, and ends in order when it is restarted or stopped", () => {
    expect(ran("stat --format '%a %U' /var/lib/private/reveille /var/lib/private/reveille/reveille.json5").output).toBe(
      "700 reveille\n600 reveille\n",
    );
    expect(ran("systemctl restart reveille && systemctl is-active reveille").output.trim()).toBe("active");
    expect(ran("journalctl --unit reveille --output cat | tail -n 3").output).toContain(
      "reveille.service: Deactivated successfully.",
    );
  });
});
