import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EXIT_MEANINGS } from "../../../../src/cli/exit-codes.ts";
import { RecordedProcess } from "../recorded-process.ts";

const SHELLS = { bash: "/bin/bash", zsh: "/usr/bin/zsh", fish: "/usr/bin/fish" } as const;
type Shell = keyof typeof SHELLS;
const HERE = (["bash", "zsh", "fish"] as const).filter((shell) => existsSync(SHELLS[shell]));
for (const shell of Object.keys(SHELLS) as Shell[]) {
  if (!HERE.includes(shell)) console.warn(`The completion of ${shell} is not tested: apt-get install ${shell}.`);
}

let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "reveille-completion-"));
  writeFileSync(join(folder, "some.json5"), "");
  const terminal = new RecordedProcess();
  try {
    for (const shell of HERE) {
      terminal.out = "";
      expect(await terminal.run("completion", shell)).toBe(0);
      writeFileSync(join(folder, shell), terminal.out);
    }
  } finally {
    terminal.remove();
  }
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** What a shell offers after those words; the last one is being written. */
function offered(shell: Shell, ...words: readonly string[]): string[] {
  const line = ["reveille", ...words];
  const quoted = line.map((word) => `'${word}'`).join(" ");
  const script = {
    bash: `source ./bash; COMP_WORDS=(${quoted}); COMP_CWORD=${words.length}; _reveille; printf '%s\\n' "\${COMPREPLY[@]}"`,
    // Its own functions work only while a line is edited.
    zsh: `compdef() { :; }; _describe() { local -a all=("\${(@P)2}"); print -rl -- \${(M)\${all[@]%%:*}:#\${words[CURRENT]}*}; }; _files() { print -rl -- \${words[CURRENT]}*(N); }; source ./zsh; words=(${quoted}); CURRENT=${line.length}; _reveille`,
    fish: `source ./fish; complete -C "${line.join(" ")}"`,
  }[shell];
  const flags = { bash: ["--norc", "-c"], zsh: ["-f", "-c"], fish: ["--no-config", "-c"] }[shell];
  const out = execFileSync(SHELLS[shell], [...flags, script], {
    cwd: folder,
    encoding: "utf8",
    env: { HOME: folder, PATH: process.env["PATH"] },
  });
  return out
    .split("\n")
    .map((entry) => entry.split("\t", 1)[0]!)
    .filter(Boolean);
}

describe.each(HERE)("the completion of %s", (shell) => {
  it("offers commands, then those below them", () => {
    expect(offered(shell, "")).toEqual(
      expect.arrayContaining(["serve", "deliveries", "backup", "completion", "config"]),
    );
    expect(offered(shell, "del")).toEqual(["deliveries"]);
    expect(offered(shell, "deliveries", "")).toEqual(expect.arrayContaining(["list", "show", "replay"]));
    expect(offered(shell, "deliveries", "re").toSorted()).toEqual(["release", "replay", "resolve"]);
    expect(offered(shell, "deliveries", "")).not.toContain("serve");
  });

  it("offers the options of a command, also of the default one below it", () => {
    expect(offered(shell, "deliveries", "list", "--f")).toEqual(["--follow"]);
    expect(offered(shell, "deliveries", "--f")).toEqual(["--follow"]);
    expect(offered(shell, "--acc")).toEqual(["--accept-loss"]);
    expect(offered(shell, "backup", "--with")).toEqual(["--with-secrets"]);
    expect(offered(shell, "deliveries", "list", "--as")).toEqual([]);
  });

  it("offers files where one is wanted, and takes the value of an option for nothing else", () => {
    expect(offered(shell, "check", "--config", "")).toContain("some.json5");
    expect(offered(shell, "restore", "")).toContain("some.json5");
    expect(offered(shell, "deliveries", "list", "--text", "")).toEqual([]);
    expect(offered(shell, "--config", "deliveries", "dep")).toEqual([]);
    expect(offered(shell, "--config", "deliveries", "del")).toEqual(["deliveries"]);
  });
});

describe("every command", () => {
  it("can answer in JSON, except those whose output is a document of another kind", () => {
    const script = readFileSync(join(folder, "bash"), "utf8");
    const commands = Array.from(script.matchAll(/^ {4}"(\/\S+)"\) words="(.*)"; files/gmu), ([, path, words]) => ({
      path: path!,
      words: words!.split(" "),
    }));
    const leaves = commands.filter(({ path }) => !commands.some((other) => other.path.startsWith(`${path}/`)));
    expect(leaves.length).toBeGreaterThan(30);
    const without = leaves.filter(({ words }) => !words.includes("--json")).map(({ path }) => path);
    expect(without).toEqual(["/config/schema", "/completion"]);
  });
});

describe("the completion", () => {
  it("is refused for another shell, with those that there are", async () => {
    const terminal = new RecordedProcess();
    try {
      expect(await terminal.run("completion", "powershell")).toBe(1);
      expect(terminal.err).toContain("bash, zsh, fish");
    } finally {
      terminal.remove();
    }
  });
});

describe("the exit codes", () => {
  it("are one table, in the code, in --help and on the page", async () => {
    const page = readFileSync(join(import.meta.dirname, "../../../../docs/operate/gateway.md"), "utf8");
    const [, section = ""] = page.split("### Exit codes");
    const rows = Array.from(section.split("\n\n**")[0]!.matchAll(/^\| (?!exit code)(.+?) \| (.+) \|$/gmu));
    expect(rows.map(([, code, means]) => ({ code, means }))).toEqual(EXIT_MEANINGS);
    const terminal = new RecordedProcess();
    try {
      expect(await terminal.run("--help")).toBe(0);
      for (const { code, means } of EXIT_MEANINGS)
        expect(terminal.out).toContain(`  ${code}: ${means}`.replaceAll("`", ""));
    } finally {
      terminal.remove();
    }
  });
});
