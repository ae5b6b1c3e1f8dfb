import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { EmbeddedGateway } from "../../../src/hosts/embedded/gateway.ts";
import { canConfine } from "../../../src/hosts/embedded/programs/probe.ts";
import { baseConfig, GatewayFixture } from "../../unit/hosts/embedded/gateway/fixture.ts";
import { endedRun, program } from "./acting-gateway.ts";

const fixture = new GatewayFixture();
const repository = join(fixture.folder, "repository");
const pwned = join(fixture.folder, "pwned");
/** Outside of what is closed anyway, unless this clone is in it. `.build` is cleared by builds. */
const elsewhere = mkdtempSync(join(import.meta.dirname, "../../../node_modules/.secret-"));
const isClosed = [homedir(), "/root", "/home", "/Users", tmpdir(), "/tmp", "/var/tmp"].some((folder) =>
  elsewhere.startsWith(`${folder}/`),
);
const secret = join(elsewhere, "key");
const problem = await canConfine();
let gateway: EmbeddedGateway;

/** Carries out the lines of its prompt that begin with a dollar sign. */
const shell = { type: "command", command: ["sh", "-c", "sed -n 's/^[$] //p' | sh"] };
const acp = { type: "acp", command: [process.execPath, program("acp-agent.mjs")], read: [program("")] };
const mapping = {
  acceptAllThree: "what it can do is tested here",
  deliver: false,
  wakeMode: "next-heartbeat",
  messageTemplate: "{{text}}",
};
const workspace = { git: `file://${repository}`, ref: "main" };

/** Settings that make any git which reads them run a program. */
const TRAP = String.raw`[url "ext::touch ${pwned} "]\n\tinsteadOf = file://\n[protocol "ext"]\n\tallow = always\n[filter "x"]\n\tsmudge = touch ${pwned}\n`;

beforeAll(async () => {
  mkdirSync(repository);
  const git = (...args: string[]): unknown =>
    execFileSync("git", ["-c", "user.name=A", "-c", "user.email=a@example.com", ...args], { cwd: repository });
  git("init", "--quiet", "--initial-branch=main");
  writeFileSync(join(repository, "README"), "hello");
  git("add", ".");
  git("commit", "--quiet", "-m", "first");
  writeFileSync(secret, "the key of the model", { mode: 0o600 });
  writeFileSync(join(elsewhere, "note"), "no secret");
  fixture.write({
    ...baseConfig,
    models: { providers: { local: { baseUrl: "http://127.0.0.1:9/v1", apiKey: { file: secret } } } },
    agents: {
      defaults: { heartbeat: { every: "0m" } },
      list: [
        { id: "main", default: true },
        { id: "coder", runtime: acp, permissions: "all", allowUntrusted: true },
        { id: "shell", runtime: shell, permissions: "all", allowUntrusted: true },
      ],
    },
    hooks: {
      ...baseConfig.hooks,
      allowRequestSessionKey: true,
      allowedSessionKeyPrefixes: ["hook:"],
      mappings: [
        { ...mapping, match: { path: "shell" }, agentId: "shell" },
        { ...mapping, match: { path: "listed" }, agentId: "shell", permissions: { allow: [{ command: "ls" }] } },
        { ...mapping, match: { path: "asking" }, agentId: "shell", permissions: "ask" },
        { ...mapping, match: { path: "own" }, agentId: "shell", workspace: { path: fixture.folder } },
        {
          ...mapping,
          match: { path: "kept" },
          agentId: "coder",
          workspace,
          sessionMode: "persistent",
          sessionKey: "hook:{{key}}",
        },
      ],
    },
  });
  gateway = await fixture.start();
});
afterAll(async () => {
  await fixture.remove();
  rmSync(elsewhere, { recursive: true, force: true });
});

it("a command that cannot be asked does not run with permissions that ask or list acts", async () => {
  for (const path of ["listed", "asking"]) {
    const { state, reason } = await endedRun(gateway, path, { text: `\n$ touch ${pwned}\n` });
    expect([state, reason]).toEqual(["failed", expect.stringContaining("cannot be asked act by act")]);
  }
});

describe.skipIf(problem !== undefined)("a confined program", () => {
  it("reads no file of a secret, wherever it is", async () => {
    const { runs } = await endedRun(gateway, "shell", { text: `\n$ cat ${secret} ${elsewhere}/note; true\n` });
    expect(runs[0]).toMatchObject({ reply: isClosed ? null : "no secret" });
  });

  it("does not start in the folder of the gateway's configuration", async () => {
    const { state, reason } = await endedRun(gateway, "own", { text: "\n$ cat *.json5\n" });
    expect([state, reason]).toEqual(["failed", expect.stringContaining("holds what is the gateway's own")]);
  });
});

describe.skipIf(problem !== undefined)("an agent in a working copy", () => {
  it("cannot reach what the gateway's own git reads", async () => {
    const trap = `do:run for c in ../../repositories/*/config ../*/.git/config; do printf '${TRAP}' >> $c; done; ls -R ../.. > seen; cat seen`;
    const one = await endedRun(gateway, "kept", { text: trap, key: "one" });
    expect(one.runs[0]!.reply).not.toContain("repositories");
    const again = await endedRun(gateway, "kept", { text: "do:list", key: "two" });
    expect(existsSync(pwned)).toBe(false);
    expect(again.state).toBe("done");
  });
});
