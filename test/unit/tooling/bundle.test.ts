import { execFileSync, spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const root = resolve(import.meta.dirname, "../../..");
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "reveille-bundle-"));
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

describe("the bundle", () => {
  let bundle: string;

  beforeAll(() => {
    bundle = join(folder, "bundle");
    execFileSync(process.execPath, [join(root, "scripts/bundle.ts"), bundle]);
  });

  it("runs with no package beside it but jiti, transforms in their sandbox included", () => {
    mkdirSync(join(folder, "node_modules"));
    symlinkSync(join(root, "node_modules/jiti"), join(folder, "node_modules/jiti"));
    mkdirSync(join(folder, "hooks/transforms"), { recursive: true });
    writeFileSync(
      join(folder, "hooks/transforms/double.ts"),
      "export default ({ payload }: { payload: { n: number } }) => ({ message: `doubled to ${payload.n * 2}` });\n",
    );
    writeFileSync(join(folder, "payload.json"), '{"n":21}');
    const mapping = { match: { path: "double" }, when: "payload.n > 1", transform: { module: "double.ts" } };
    writeFileSync(
      join(folder, "reveille.json5"),
      JSON.stringify({
        gateway: { auth: { token: "gateway-token-of-the-bundle-test" } },
        hooks: { enabled: true, token: "hook-token-of-the-bundle-test-1", mappings: [mapping] },
      }),
      { mode: 0o600 },
    );
    const args = ["transform", "test", "double.ts", "--config", "reveille.json5", "--payload", "payload.json"];
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(bundle, "cli/main.js"), ...args], {
      encoding: "utf8",
      cwd: folder,
    });
    expect([status, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("doubled to 42");
  });

  it("loads what conditions need with the first condition, and what WebSocket needs not at all", () => {
    const late = "config/cel-module.js";
    const atExit = `
      import Module from "node:module";
      process.on("exit", () => {
        const undici = process.moduleLoadList.some((name) => name.includes("undici"));
        const cel = Object.keys(Module._cache).some((file) => file.endsWith(${JSON.stringify(late)}));
        console.log(JSON.stringify({ undici, cel }));
      });
    `;
    const loadedFor = (mapping: object): unknown => {
      const hooks = { enabled: true, token: "hook-token-of-the-bundle-test-1", mappings: [mapping] };
      const gateway = { auth: { token: "gateway-token-of-the-bundle-test" } };
      writeFileSync(join(folder, "late.json5"), JSON.stringify({ gateway, hooks }), { mode: 0o600 });
      const main = join(bundle, "cli/main.js");
      const hook = `data:text/javascript,${encodeURIComponent(atExit)}`;
      const { status, stdout } = spawnSync(
        process.execPath,
        ["--import", hook, main, "check", "--config", "late.json5"],
        { encoding: "utf8", cwd: folder },
      );
      expect(status).toBe(0);
      return JSON.parse(stdout.trim().split("\n").at(-1)!);
    };
    expect(existsSync(join(bundle, late))).toBe(true);
    const mapping = { match: { path: "late" }, messageTemplate: "{{n}}" };
    expect(loadedFor(mapping)).toEqual({ undici: false, cel: false });
    expect(loadedFor({ ...mapping, when: "payload.n > 1" })).toEqual({ undici: false, cel: true });
  });

  it("writes mails without the tables of types and mail services, which it leaves out", () => {
    const chunk = readdirSync(join(bundle, "chunks")).find((name) => /^nodemailer-.*\.js$/u.test(name))!;
    expect(readFileSync(join(bundle, "chunks", chunk), "utf8")).not.toMatch(/smtp\.gmail\.com|x-world\/x-vrml/u);
    const script = `
      const { createTransport } = await import(${JSON.stringify(pathToFileURL(join(bundle, "chunks", chunk)))});
      const transport = createTransport({ streamTransport: true, buffer: true });
      const { message } = await transport.sendMail({ from: "a@example.org", to: "b@example.org", text: "It is \u00fcber." });
      console.log(String(message));
    `;
    const args = ["--input-type=module", "--eval", script];
    const mail = execFileSync(process.execPath, args, { encoding: "utf8" });
    expect(mail).toContain("Content-Type: text/plain; charset=utf-8");
    expect(mail).toContain("It is =C3=BCber.");
  });

  it("has the license of every package in it", () => {
    const text = readFileSync(join(bundle, "THIRD-PARTY-LICENSES.txt"), "utf8");
    expect(text).toContain("Permission is hereby granted");
    for (const name of ["commander", "pino", "tapable", "typebox"]) expect(text).toContain(`\n${name} `);
    expect(text).not.toContain("License: not stated");
  });

  it("keeps the async context in which OpenClaw loads the plugin, from the import of the entry on", () => {
    const entry = pathToFileURL(join(bundle, "openclaw-plugin.js")).href;
    const script = `
      import { AsyncLocalStorage } from "node:async_hooks";
      const start = new AsyncLocalStorage();
      await import(${JSON.stringify(entry)});
      const inLoadContext = globalThis[Symbol.for("reveille.firstLoadContext")];
      console.log(start.run("a start", () => inLoadContext(() => String(start.getStore()))));
    `;
    const args = ["--input-type=module", "--eval", script];
    expect(execFileSync(process.execPath, args, { encoding: "utf8" })).toBe("undefined\n");
  });

  it("names the lines of the sources in stack traces", () => {
    const script = `
      const { translateStackTraces } = await import(${JSON.stringify(join(root, "src/cli/source-lines.ts"))});
      translateStackTraces();
      const { definePreset } = await import(${JSON.stringify(pathToFileURL(join(bundle, "index.js")))});
      try { definePreset(null); } catch (error) { console.log(error.stack); }
    `;
    const stack = execFileSync(process.execPath, ["--input-type=module", "--eval", script], {
      encoding: "utf8",
      cwd: root,
    });
    const [, file, line] = /\((src\/\S+\.ts):(\d+)\)/u.exec(stack) ?? [];
    expect(stack).toMatch(/definePreset/u);
    expect(readFileSync(join(root, file!), "utf8").split("\n").length).toBeGreaterThan(Number(line));
  });
});

describe("npm start", () => {
  let clone: string;

  beforeAll(() => {
    clone = join(folder, "clone");
    for (const name of ["src", "scripts", "package.json", "package-lock.json"]) {
      cpSync(join(root, name), join(clone, name), { recursive: true });
    }
    writeFileSync(join(clone, "src/unused.ts"), "export {};\n");
    symlinkSync(join(root, "node_modules"), join(clone, "node_modules"));
  });

  function builds(): string[] {
    const { status, stderr } = spawnSync(process.execPath, [join(clone, "scripts/start.mjs"), "--version"], {
      encoding: "utf8",
    });
    expect([status, stderr]).toEqual([0, ""]);
    return readdirSync(join(clone, ".build")).toSorted();
  }

  it(
    "builds the bundle once, and again when a source was changed or removed, and keeps those in use",
    { timeout: 240_000 },
    () => {
      const first = builds();
      expect(first).toHaveLength(1);
      expect(builds()).toEqual(first);

      const inAMinute = new Date(Date.now() + 60_000);
      utimesSync(join(clone, "src/cli/run.ts"), inAMinute, inAMinute);
      expect(builds()).toHaveLength(2);

      const old = Array.from("12345", (name) => join(clone, ".build", name));
      for (const path of old) mkdirSync(path);
      mkdirSync(join(clone, ".build/1/users"));
      writeFileSync(join(clone, `.build/1/users/${process.pid}`), "");
      for (const [at, path] of old.entries()) utimesSync(path, at, at);
      rmSync(join(clone, "src/unused.ts"));
      // The three that were made, the newest others, and the one that a process runs from.
      expect(builds().filter((name) => name.length === 1)).toEqual(["1", "4", "5"]);
      expect(builds()).toHaveLength(6);
    },
  );
});

describe("scripts/start.mjs without the development packages", () => {
  it("says what is missing and how to run without them", () => {
    const bare = join(folder, "bare");
    const scripts = ["start.mjs", "built-folder.mjs", "bundle.ts"].map((name) => `scripts/${name}`);
    for (const file of ["package.json", "package-lock.json", ...scripts]) cpSync(join(root, file), join(bare, file));
    mkdirSync(join(bare, ".build"));
    mkdirSync(join(bare, "src"));
    const { status, stderr } = spawnSync(process.execPath, [join(bare, "scripts/start.mjs"), "check"], {
      encoding: "utf8",
    });
    expect(status).toBe(1);
    expect(stderr).toMatch(/^The packages that build the program are not installed\. Run npm ci/u);
    expect(stderr).toContain("npm install -g ./reveille-*.tgz");
    expect(stderr).not.toContain("    at ");
  });
});
