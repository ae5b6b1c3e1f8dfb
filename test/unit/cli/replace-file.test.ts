import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Registrations } from "../../../src/cli/connect/registrations.ts";
import { makeFolder, replaceFile } from "../../../src/cli/replace-file.ts";
import { RecordedProcess } from "./recorded-process.ts";

const NOBODY = 65_534;
const OTHER = 65_533;
const isRoot = process.getuid?.() === 0;
let terminal: RecordedProcess;

beforeEach(async () => {
  terminal = new RecordedProcess();
  await terminal.run("init");
});
afterEach(() => {
  terminal.remove();
});

const text = (): string => readFileSync(terminal.configFile, "utf8");
const beside = (name: string): string => join(dirname(terminal.configFile), name);
const ownerOf = (file: string): number[] => [statSync(file).uid, statSync(file).gid, statSync(file).mode & 0o777];

function asNobody(action: () => void): void {
  process.seteuid!(NOBODY);
  try {
    action();
  } finally {
    process.seteuid!(0);
  }
}

async function run(...args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  terminal.out = "";
  terminal.err = "";
  const code = await terminal.run(...args);
  return { code, out: terminal.out, err: terminal.err };
}

describe("a command that edits the configuration", () => {
  it("keeps the file's mode, and leaves nothing beside it", async () => {
    chmodSync(terminal.configFile, 0o640);
    expect(await run("config", "set", "gateway.port", "19000")).toMatchObject({ code: 0 });
    expect(statSync(terminal.configFile).mode & 0o777).toBe(0o640);
    expect(readdirSync(dirname(terminal.configFile))).toEqual(["reveille.json5"]);
  });

  it.skipIf(!isRoot)("as root leaves the file to its owner and group, and gives them what it makes", async () => {
    chownSync(terminal.configFile, NOBODY, OTHER);
    expect(await run("config", "set", "gateway.port", "19000")).toMatchObject({ code: 0 });
    expect(ownerOf(terminal.configFile)).toEqual([NOBODY, OTHER, 0o600]);
    expect(await run("add", "github")).toMatchObject({ code: 0 });
    expect(ownerOf(terminal.configFile)).toEqual([NOBODY, OTHER, 0o600]);
    expect(ownerOf(beside("github-secret"))).toEqual([NOBODY, OTHER, 0o600]);
    const kept = { sender: "github", preset: "github", api: "https://api.github.com", id: "7", place: null, url: "x" };
    Registrations.beside(terminal.configFile).add(kept);
    expect(ownerOf(beside("registrations.json"))).toEqual([NOBODY, OTHER, 0o600]);
    makeFolder(beside("state/subscriptions"), { uid: NOBODY, gid: OTHER });
    for (const made of ["state", "state/subscriptions"]) expect(ownerOf(beside(made))).toEqual([NOBODY, OTHER, 0o700]);
    expect(ownerOf(dirname(terminal.configFile))).toEqual([0, 0, 0o700]);
  });

  it.skipIf(!isRoot)(
    "as root makes a first configuration for whom the file or its folder belongs to, and keeps a link",
    async () => {
      chownSync(terminal.configFile, NOBODY, OTHER);
      const target = beside("real.json5");
      renameSync(terminal.configFile, target);
      symlinkSync(target, terminal.configFile);
      const before = text();
      expect(await run("init", "--force")).toMatchObject({ code: 0 });
      expect(text()).not.toBe(before);
      expect(lstatSync(terminal.configFile).isSymbolicLink()).toBe(true);
      expect(ownerOf(target)).toEqual([NOBODY, OTHER, 0o600]);
      const folder = join(terminal.homeDir, "gateway");
      mkdirSync(folder);
      chownSync(folder, NOBODY, OTHER);
      expect(await run("init", "--config", join(folder, "conf/reveille.json5"))).toMatchObject({ code: 0 });
      expect(ownerOf(join(folder, "conf"))).toEqual([NOBODY, OTHER, 0o700]);
      expect(ownerOf(join(folder, "conf/reveille.json5"))).toEqual([NOBODY, OTHER, 0o600]);
    },
  );

  it.skipIf(!isRoot)("as its owner takes a file whose group is another one that may do nothing with it", () => {
    const folder = join(terminal.homeDir, "own");
    const file = join(folder, "file");
    mkdirSync(folder);
    writeFileSync(file, "before", { mode: 0o600 });
    chownSync(folder, NOBODY, NOBODY);
    chownSync(file, NOBODY, OTHER);
    chmodSync(terminal.homeDir, 0o755);
    asNobody(() => replaceFile(file, { before: "before", after: "after" }));
    expect(readFileSync(file, "utf8")).toBe("after");
    expect(statSync(file).uid).toBe(NOBODY);
  });

  it.skipIf(!isRoot)("as a user who cannot leave the file to its owner says so, and leaves it as it is", () => {
    const folder = join(terminal.homeDir, "shared");
    const file = join(folder, "file");
    mkdirSync(folder);
    writeFileSync(file, "before");
    for (const path of [terminal.homeDir, folder, file]) chmodSync(path, 0o777);
    asNobody(() => {
      expect(() => replaceFile(file, { before: "before", after: "after" })).toThrow("run the command as its owner");
    });
    expect([readFileSync(file, "utf8"), readdirSync(folder)]).toEqual(["before", ["file"]]);
  });

  it("follows a link, resolves paths from where the link is, and a gateway that runs notices", async () => {
    await run("config", "set", "gateway.port", "0");
    // Beside the link, and not found from the folder of the target.
    writeFileSync(beside("gateway-token"), "the-gateway-token-of-these-tests", { mode: 0o600 });
    await run("config", "set", "gateway.auth.token", '{ file: "gateway-token" }');
    const target = join(terminal.homeDir, "elsewhere", "real.json5");
    mkdirSync(dirname(target));
    renameSync(terminal.configFile, target);
    symlinkSync(target, terminal.configFile);
    const { url, code } = await terminal.serve();
    const added = await run("add", "github", "--url", url);
    expect(added.out).toContain("The running gateway has taken it.");
    expect(lstatSync(terminal.configFile).isSymbolicLink()).toBe(true);
    expect(readFileSync(target, "utf8")).toContain("github-secret");
    expect(readdirSync(dirname(target))).toEqual(["real.json5"]);
    terminal.signals.emit("SIGTERM");
    await code;
  });

  it("refuses to undo what another program has written meanwhile, and leaves no secret behind", async () => {
    const changed = text().replace("18789", "19001");
    const answer = (): string => {
      writeFileSync(terminal.configFile, changed);
      return "whsec_c2VjcmV0LW9mLXN2aXgtZm9yLXRlc3RzLWE";
    };
    terminal.typed = Object.assign([], { shift: answer });
    const refused = await run("add", "svix");
    const problem = `${terminal.configFile} was changed meanwhile; nothing was written. Run the command again.\n`;
    expect([refused.code, refused.err]).toEqual([1, problem]);
    expect([text(), existsSync(beside("svix-secret"))]).toEqual([changed, false]);
    expect(readdirSync(dirname(terminal.configFile))).toEqual(["reveille.json5"]);
  });
});
