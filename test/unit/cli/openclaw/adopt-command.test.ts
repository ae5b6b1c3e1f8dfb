import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { adopt } from "../../../../src/cli/openclaw/adopt-command.ts";
import type { AdoptOptions } from "../../../../src/cli/openclaw/adopt-command.ts";
import { findConfigFile, replaceConfigFile } from "../../../../src/cli/openclaw/adopt-file.ts";
import { recordingLogger } from "../../hosts/embedded/server/recording-logger.ts";

const token = "a-hook-token-of-these-tests-24";
const hooks = { enabled: true, token };
/** The first has no template, the last a module that is not there. */
const BROKEN = [
  { match: { path: "a" } },
  { match: { path: "b" }, action: "wake", textTemplate: "x" },
  { match: { path: "c" }, messageTemplate: "x", transform: { module: "gone.mjs" } },
] as const;
let home: string;
let file: string;
let env: Record<string, string>;
let out: string;
let logger: ReturnType<typeof recordingLogger>;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "reveille-adopt-test-"));
  mkdirSync(join(home, ".openclaw"), { mode: 0o700 });
  file = join(home, ".openclaw/openclaw.json");
  env = { HOME: home };
  out = "";
  logger = recordingLogger();
});

afterEach(() => {
  rmSync(home, { recursive: true, force: true });
});

function write(config: object | string, mode = 0o600): string {
  const text = typeof config === "string" ? config : JSON.stringify(config);
  writeFileSync(file, text, { mode });
  return text;
}

function run(options: AdoptOptions = {}, gateway?: { readonly takesLocations: boolean }): Promise<number> {
  const createLogger = () => ({ ...logger, flush: async () => {} });
  const io = { env, createLogger, out: (text: string | Uint8Array) => (out += String(text)) };
  return adopt(options, gateway === undefined ? io : { ...io, gateway });
}

const written = (): Record<string, unknown> => JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
const folder = (): string[] => readdirSync(join(home, ".openclaw")).toSorted();

describe("adopt", () => {
  it("writes our block, keeps the rest, and leaves a copy of the file as it was", async () => {
    const meta = { lastTouchedVersion: "2026.9.6" };
    const text = write({ meta, gateway: { port: 1 }, hooks });
    expect(await run()).toBe(0);
    expect(written()).toEqual({
      meta,
      gateway: { port: 1 },
      hooks: { ...hooks, enabled: false },
      plugins: {
        entries: {
          reveille: {
            enabled: true,
            config: { enabled: true, token, tokenHeader: "X-OpenClaw-Token", path: "/hooks" },
          },
        },
      },
    });
    expect(readFileSync(`${file}.before-reveille`, "utf8")).toBe(text);
    expect(statSync(`${file}.before-reveille`).mode & 0o777).toBe(0o600);
    expect(folder()).toEqual(["openclaw.json", "openclaw.json.before-reveille"]);
    expect(out).toContain(`${file}: adopted. As it was: ${file}.before-reveille`);
    expect(out).not.toContain(token);
  });

  it("keeps the file's mode", async () => {
    write({ hooks }, 0o640);
    chmodSync(file, 0o640);
    expect(await run()).toBe(0);
    expect(statSync(file).mode & 0o777).toBe(0o640);
  });

  it("prints the same and writes nothing in a dry run", async () => {
    const text = write({ hooks });
    expect(await run({ dryRun: true })).toBe(0);
    expect(readFileSync(file, "utf8")).toBe(text);
    expect(folder()).toEqual(["openclaw.json"]);
    expect(out).toContain("would be adopted; nothing was written");
    expect(out).toContain("What callers and agents notice:");
    expect(out).not.toContain(token);
  });

  it("has nothing to do the second time", async () => {
    write({ hooks });
    await run();
    const text = readFileSync(file, "utf8");
    out = "";
    expect(await run()).toBe(0);
    expect(out).toContain("Already adopted");
    expect(readFileSync(file, "utf8")).toBe(text);
  });

  it("never replaces an earlier copy", async () => {
    const first = write({ hooks });
    await run();
    const second = write({ hooks, gateway: {} });
    expect(await run()).toBe(0);
    expect(readFileSync(`${file}.before-reveille`, "utf8")).toBe(first);
    expect(readFileSync(`${file}.before-reveille-2`, "utf8")).toBe(second);
  });

  it("writes nothing of what is refused, and ends with 1", async () => {
    const text = write({ hooks: { ...hooks, path: "/" } });
    expect(await run()).toBe(1);
    expect(out).toContain('  - hooks.path: must not be "/"');
    expect(readFileSync(file, "utf8")).toBe(text);
    expect(folder()).toEqual(["openclaw.json"]);
  });

  it("finds every reason against a block in one run, and what would leave the broken mappings out", async () => {
    const text = write({ hooks: { ...hooks, mappings: BROKEN } });
    expect(await run()).toBe(1);
    expect(out).toContain("hooks.mappings[0]");
    expect(out).toContain("hooks.mappings[2].transform");
    expect(out).toContain("--skip-broken");
    expect(readFileSync(file, "utf8")).toBe(text);
  });

  it("leaves out what is broken on request, and keeps the block of the host as it was", async () => {
    write({ hooks: { ...hooks, mappings: BROKEN } });
    expect(await run({ skipBroken: true })).toBe(0);
    const { hooks: kept, plugins } = written() as { hooks: object; plugins: { entries: { reveille: object } } };
    expect(kept).toEqual({ ...hooks, enabled: false, mappings: BROKEN });
    expect(plugins.entries.reveille).toMatchObject({ config: { mappings: [BROKEN[1]] } });
    expect(out).toMatch(/What is not carried over:[^]*hooks\.mappings\[0\][^]*hooks\.mappings\[2\][^]*left out/);
    // The report speaks of the block as it is in the file.
    expect(out).toContain("hooks.mappings[1]: the text of the wake");
  });

  it("says once what holds for several mappings", async () => {
    const wake = (path: string): object => ({ match: { path }, action: "wake", textTemplate: "x" });
    write({ hooks: { ...hooks, mappings: ["a", "b", "c"].map(wake) } });
    expect(await run({ dryRun: true })).toBe(0);
    expect(out.match(/the text of the wake reaches/g)).toHaveLength(1);
    expect(out).toContain("hooks.mappings[0-2]: the text of the wake reaches");
  });

  it("logs nothing before its report but what is wrong", async () => {
    mkdirSync(join(home, ".openclaw/hooks/transforms"), { recursive: true });
    writeFileSync(join(home, ".openclaw/hooks/transforms/a.mjs"), "export default () => null;\n");
    write({ hooks: { ...hooks, mappings: [{ match: { path: "a" }, transform: { module: "a.mjs" } }] } });
    expect(await run({ dryRun: true })).toBe(0);
    expect(logger.lines).toEqual([]);
  });

  it("prints JSON without a secret", async () => {
    write({ hooks });
    expect(await run({ json: true })).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      outcome: "adopted",
      file,
      dryRun: false,
      backup: `${file}.before-reveille`,
      written: { "hooks.enabled": false, "plugins.entries.reveille.config": { token: "<unchanged>" } },
    });
    expect(out).not.toContain(token);
    out = "";
    expect(await run({ json: true })).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ outcome: "nothing", notes: [] });
  });

  it("says that comments are gone, and only then", async () => {
    write(`{ /* mine */ hooks: { enabled: true, token: '${token}' } }`);
    await run();
    expect(out).toContain("The comments of the file are gone in the new one");
    out = "";
    write(`{ hooks: { enabled: true, token: "${token}", defaultSessionKey: 'see // here' }, note: "/* no */" }`);
    await run();
    expect(out).not.toContain("The comments of the file");
  });

  it("refuses a file that would lose most of its size, since the host takes that for damage", async () => {
    const text = write(`{ ${"// a long comment\n".repeat(300)} hooks: { enabled: true, token: "${token}" } }`);
    expect(await run()).toBe(1);
    expect(out).toContain("more than half of its size");
    expect(readFileSync(file, "utf8")).toBe(text);
  });

  it("refuses a file that cannot be written as intended", async () => {
    const text = write(`{ logging: { level: Infinity }, hooks: { enabled: true, token: "${token}" } }`);
    expect(await run()).toBe(1);
    expect(out).toContain("a number that JSON cannot");
    expect(readFileSync(file, "utf8")).toBe(text);
  });

  it("refuses to write what is made elsewhere", async () => {
    write({ hooks });
    env["OPENCLAW_NIX_MODE"] = "1";
    expect(await run()).toBe(1);
    expect(out).toContain("OPENCLAW_NIX_MODE");
  });

  it("finds variables in .env beside the configuration, after those of the process", async () => {
    write({ hooks: { enabled: true, token: "${HOOK_TOKEN}" } });
    writeFileSync(join(home, ".openclaw/.env"), `HOOK_TOKEN=${token}\n`);
    expect(await run({ dryRun: true })).toBe(0);
    expect(out).not.toContain("is not set here");
    expect(out).toContain('"token": "${HOOK_TOKEN}"');
    env["HOOK_TOKEN"] = "token";
    expect(await run({ dryRun: true })).toBe(1);
  });

  it("says where to read how the plugin is installed, unless it is seen to be", async () => {
    const words = 'see "Install" in docs/operate/openclaw.md';
    write({ hooks });
    await run({ dryRun: true });
    expect(out).toContain(words);
    out = "";
    await run({ dryRun: true }, { takesLocations: false });
    expect(out).not.toContain(words);
    out = "";
    mkdirSync(join(home, ".openclaw/extensions/reveille"), { recursive: true });
    await run({ dryRun: true });
    expect(out).not.toContain(words);
    rmSync(join(home, ".openclaw/extensions"), { recursive: true });
    out = "";
    write({ hooks, plugins: { load: { paths: ["/somewhere"] } } });
    await run({ dryRun: true });
    expect(out).not.toContain(words);
  });

  it.each([
    ["{ hooks: ", "is not JSON5"],
    ["[1]", "is not an object"],
  ])("ends with words for %j", async (text, words) => {
    write(text);
    await expect(run()).rejects.toThrow(words);
  });

  it("ends with a message for a missing file", async () => {
    await expect(run({ config: join(home, "nowhere.json") })).rejects.toThrow(
      "cannot be read (ENOENT); name OpenClaw's configuration with --config <file>.",
    );
  });
});

describe("transforms", () => {
  const mappings = [{ match: { path: "shaped" }, transform: { module: "shape.mjs" } }];

  function writeModule(source: string): void {
    mkdirSync(join(home, ".openclaw/hooks/transforms"), { recursive: true });
    writeFileSync(join(home, ".openclaw/hooks/transforms/shape.mjs"), source);
  }

  it("are loaded as the gateway will load them", async () => {
    write({ hooks: { ...hooks, mappings } });
    writeModule("export default () => null;\n");
    expect(await run()).toBe(0);
  });

  it("that cannot be loaded refuse the block", async () => {
    const text = write({ hooks: { ...hooks, mappings } });
    expect(await run()).toBe(1);
    expect(out).toContain("hooks.mappings[0].transform.module: ");
    writeModule("export const nothing = 1;\n");
    expect(await run({ transforms: "none" })).toBe(1);
    expect(readFileSync(file, "utf8")).toBe(text);
  });
});

describe("the file", () => {
  const make = (...parts: string[]): string => {
    const made = join(home, ...parts);
    mkdirSync(join(made, ".."), { recursive: true });
    writeFileSync(made, "{}");
    return made;
  };

  it("is where the host looks for it", () => {
    expect(findConfigFile({ HOME: home })).toBe(file);
    const old = make(".clawdbot/clawdbot.json");
    expect(findConfigFile({ HOME: home })).toBe(old);
    write({});
    expect(findConfigFile({ HOME: home })).toBe(file);
    const other = make("state/openclaw.json");
    expect(findConfigFile({ HOME: home, OPENCLAW_STATE_DIR: " ~/state " })).toBe(other);
    // As the host: a folder without a file is passed over.
    expect(findConfigFile({ HOME: home, OPENCLAW_STATE_DIR: join(home, "empty") })).toBe(file);
    expect(findConfigFile({ OPENCLAW_HOME: home, HOME: "/nowhere" })).toBe(file);
    expect(findConfigFile({ HOME: home, OPENCLAW_CONFIG_PATH: "~/mine.json" })).toBe(join(home, "mine.json"));
    expect(findConfigFile({}).endsWith(".json")).toBe(true);
  });

  it("is not replaced when somebody has changed it meanwhile", () => {
    write("{}");
    expect(() => replaceConfigFile(file, { before: "{ }", after: "{}" })).toThrow("was changed meanwhile");
    expect(folder()).toEqual(["openclaw.json"]);
  });

  it("is replaced behind a link, which stays", () => {
    const target = make("elsewhere/real.json");
    symlinkSync(target, file);
    const backup = replaceConfigFile(file, { before: "{}", after: "{ }" });
    expect(lstatSync(file).isSymbolicLink()).toBe(true);
    expect(readFileSync(target, "utf8")).toBe("{ }");
    expect(backup).toBe(`${file}.before-reveille`);
    expect(existsSync(backup)).toBe(true);
  });
});
