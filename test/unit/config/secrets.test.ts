import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { HooksContext } from "../../../src/config/read-hooks.ts";
import { readHooksConfig } from "../../../src/config/read-hooks.ts";
import { context, GOOD_TOKEN, refusals } from "./hooks-context.ts";

const OTHER_TOKEN = "0d9a6c1be24f7783a1f05c2d9e6b4471";

describe("secrets of hooks.token", () => {
  let folder: string;
  let around: HooksContext;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "secrets-"));
    around = context({ configDir: folder, env: { HOOK_TOKEN: ` ${GOOD_TOKEN}\n`, EMPTY: " ", UNSET: undefined } });
  });

  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  function write(name: string, text: string, mode = 0o600): string {
    const file = join(folder, name);
    writeFileSync(file, text);
    chmodSync(file, mode);
    return file;
  }

  const read = (token: unknown): ReturnType<typeof readHooksConfig> =>
    readHooksConfig({ enabled: true, token }, around);
  const refuse = (token: unknown): string[] => refusals({ enabled: true, token }, around);

  it("takes a string, trimmed", () => {
    expect(read(`  ${GOOD_TOKEN}\t`).config.tokens).toEqual([GOOD_TOKEN]);
  });

  it("takes an environment variable, trimmed", () => {
    expect(read({ env: "HOOK_TOKEN" })).toMatchObject({ config: { tokens: [GOOD_TOKEN] }, warnings: [] });
  });

  it("takes a file, trimmed, from the configuration's folder or by an absolute path", () => {
    const file = write("hook-token", `\uFEFF${GOOD_TOKEN}\r\n`);
    expect(read({ file: "hook-token" })).toMatchObject({ config: { tokens: [GOOD_TOKEN] }, warnings: [] });
    expect(read({ file }).config.tokens).toEqual([GOOD_TOKEN]);
    symlinkSync(file, join(folder, "link"));
    expect(read({ file: "./link" }).config.tokens).toEqual([GOOD_TOKEN]);
  });

  it("takes a file of 64 KiB", () => {
    write("padded", GOOD_TOKEN.padEnd(65_536));
    expect(read({ file: "padded" }).config.tokens).toEqual([GOOD_TOKEN]);
  });

  it("takes a list of all kinds in its order, each token once", () => {
    write("hook-token", OTHER_TOKEN);
    const list = [{ env: "HOOK_TOKEN" }, GOOD_TOKEN, { file: "hook-token" }];
    expect(read(list).config.tokens).toEqual([GOOD_TOKEN, OTHER_TOKEN]);
  });

  it.each([
    ["", "hooks.token: is empty"],
    [" \n", "hooks.token: is empty"],
    [{ env: "EMPTY" }, "hooks.token: is empty"],
    [[], "hooks.token: is empty"],
    [[GOOD_TOKEN, " "], "hooks.token[1]: is empty"],
    [{ env: "NOT_THERE" }, "hooks.token: the environment variable NOT_THERE is not set"],
    [{ env: "UNSET" }, "hooks.token: the environment variable UNSET is not set"],
    [[{ env: "NOT_THERE" }], "hooks.token[0]: the environment variable NOT_THERE is not set"],
    [{ env: "toString" }, "hooks.token: the variable it names is not set"],
    [{ env: "" }, "hooks.token.env: the value is not the name of an environment variable"],
    [{ env: "A=B" }, "hooks.token.env: the value is not the name of an environment variable"],
    [{ file: "" }, "hooks.token.file: the value is not the path of a file"],
    [{ file: "a\0b" }, "hooks.token.file: the value is not the path of a file"],
    [{}, 'hooks.token: the value is not { "env": "NAME" } or { "file": "path" }'],
    [{ env: "A", file: "b" }, 'hooks.token: the value is not { "env": "NAME" } or { "file": "path" }'],
    [{ enf: "A" }, 'hooks.token.enf: unknown key; did you mean "env"?'],
    [5, 'hooks.token: the value is not a string, { "env": "NAME" } or { "file": "path" }, or a list of those'],
    [[GOOD_TOKEN, 5], 'hooks.token[1]: the value is not a string, { "env": "NAME" } or { "file": "path" }'],
    [Array.from({ length: 17 }, () => GOOD_TOKEN), "hooks.token: has more than 16 entries"],
  ])("refuses %j", (token, line) => {
    expect(refuse(token)).toEqual([line]);
  });

  it("refuses a file that is missing, blank, no regular file or too large", () => {
    write("blank", " \n");
    write("large", "x".repeat(65_537));
    mkdirSync(join(folder, "sub"));
    const list = [{ file: "missing" }, { file: "blank" }, { file: "sub" }, { file: "large" }];
    expect(refuse(list)).toEqual([
      `hooks.token[0]: the file cannot be read (ENOENT); a relative path starts from ${folder}`,
      "hooks.token[1]: is empty",
      "hooks.token[2]: sub is not a regular file",
      "hooks.token[3]: the file large is too large for a secret",
    ]);
  });

  it("refuses a named pipe instead of waiting for somebody to write to it", () => {
    execFileSync("sh", ["-c", 'mkfifo "$1"', "sh", join(folder, "pipe")]);
    expect(refuse({ file: "pipe" })).toEqual(["hooks.token: pipe is not a regular file"]);
  });

  it.each([0o640, 0o604, 0o660, 0o644])("warns of a file with the mode %o, which others may use", (mode) => {
    write("hook-token", GOOD_TOKEN, mode);
    const { config, warnings } = read([GOOD_TOKEN, { file: "hook-token" }]);
    expect(config.tokens).toEqual([GOOD_TOKEN]);
    expect(warnings).toEqual(["hooks.token[1]: others than its owner may use the file hook-token; chmod it to 600"]);
  });

  it.runIf(process.getuid?.() === 0).each([
    [0o640, 0],
    [0o660, 1],
    [0o644, 1],
  ])("takes a file of another user with the mode %o for one that it reads by its group", (mode, count) => {
    write("hook-token", GOOD_TOKEN, mode);
    chownSync(join(folder, "hook-token"), 65_534, 0);
    expect(read({ file: "hook-token" }).warnings).toHaveLength(count);
  });

  it.each([0o600, 0o400])("has nothing against a file with the mode %o", (mode) => {
    write("hook-token", GOOD_TOKEN, mode);
    expect(read({ file: "hook-token" }).warnings).toEqual([]);
  });

  it("looks no secret up while hooks are off", () => {
    const { config } = readHooksConfig({ enabled: false, token: { env: "NOT_THERE" } }, around);
    expect(config.tokens).toEqual([]);
  });

  it("never shows a secret, wherever in the key it was put by mistake", () => {
    write("hook-token", `${OTHER_TOKEN} ${OTHER_TOKEN}\n${OTHER_TOKEN}`);
    const misplaced = [
      { env: OTHER_TOKEN },
      { file: OTHER_TOKEN },
      { file: "hook-token" },
      [[OTHER_TOKEN]],
      { token: OTHER_TOKEN },
      [`${OTHER_TOKEN}\n`.repeat(2), { value: OTHER_TOKEN }],
      OTHER_TOKEN.repeat(40),
    ];
    for (const token of misplaced) {
      const lines = refuse(token);
      expect(lines).not.toEqual([]);
      expect(lines.join("\n")).not.toContain(OTHER_TOKEN);
    }
  });
});
