import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { configurationFindings } from "../../../src/cli/doctor-command.ts";
import { nodeFinding } from "../../../src/cli/doctor-command.ts";
import { stateFinding } from "../../../src/cli/doctor-command.ts";
import { isolationFindings } from "../../../src/cli/doctor-command.ts";
import { TransformTerminal } from "./transform/terminal.ts";

interface Report {
  readonly ok: boolean;
  readonly findings: readonly {
    readonly level: string;
    readonly about: string;
    readonly message: string;
    readonly attempt?: { readonly cannot: string; readonly holds: boolean; readonly by: string };
  }[];
}

const mapping = { match: { path: "deploy" }, transform: { module: "deploy.js" } };
const withTransforms = { count: 1, isolation: "process" } as const;
const without = { count: 0, isolation: "process" } as const;

describe("reveille doctor", () => {
  it("tries each attempt on this machine, and says of each whether it holds and by what", async () => {
    using terminal = new TransformTerminal();
    terminal.configure({ mappings: [mapping] });
    terminal.module("deploy.js", "export default () => null;");
    const report = (await terminal.json("doctor")) as unknown as Report;
    const isolation = report.findings.flatMap(({ attempt }) => attempt ?? []);
    expect(isolation.length).toBeGreaterThanOrEqual(10);
    expect(isolation).toContainEqual({
      cannot: "read files outside of its folder",
      holds: true,
      by: "Node's permission model",
    });
    expect(report.findings.every(({ level, attempt }) => level !== "problem" || attempt?.holds === false)).toBe(true);
    expect(report.ok).toBe(isolation.every(({ holds }) => holds));
    const said = report.findings.map(({ level, about, message }) => [level, about, message]);
    expect(said).toContainEqual(["ok", "node", process.versions.node]);
    expect(said).toContainEqual(["ok", "configuration", `${terminal.process.configFile} is valid`]);
    expect(said).toContainEqual([
      "ok",
      "state folder",
      `${join(terminal.configDir, "state")} is made at the first start`,
    ]);
  }, 60_000);

  it("prints a line for each, and ends with code 0 where there is no configuration yet", async () => {
    using terminal = new TransformTerminal();
    const { code, out, err } = await terminal.run("doctor");
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatch(/^ok {7}node {11}\d+\.\d+\.\d+$/mu);
    expect(out).toContain(
      `warning  configuration  there is none at ${terminal.process.configFile}; write one with: reveille init\n`,
    );
    expect(out).toMatch(/^ok {7}transforms {5}cannot read files outside of its folder\b.*: Node's permission model$/mu);
    for (const line of out.trimEnd().split("\n")) expect(line).toMatch(/^(?:ok {7}|warning {2})[a-z]/u);
  }, 60_000);

  it("ends with code 1 when the configuration could not be applied", async () => {
    using terminal = new TransformTerminal();
    terminal.configure({ mappings: [mapping], presets: ["githb"] });
    const { code, out } = await terminal.run("doctor");
    expect(code).toBe(1);
    expect(out).toMatch(/^problem {2}configuration {2}hooks\.presets\[0\]: /mu);
  }, 60_000);
});

describe("the findings of reveille doctor", () => {
  it("hold the version of Node to what the package asks for", () => {
    expect(nodeFinding("24.21.0")).toEqual({ level: "ok", about: "node", message: "24.21.0" });
    expect(nodeFinding("22.0.0")).toMatchObject({ level: "problem" });
    expect(nodeFinding("22.0.0").message).toMatch(/^22\.0\.0 is not one of >=24/u);
  });

  it("say that reveille check knows more, and that isolation none has no isolation", async () => {
    using terminal = new TransformTerminal();
    terminal.configure({ mappings: [mapping], transforms: { isolation: "none" }, allowRequestSessionKey: true });
    terminal.module("deploy.js", "export default () => null;");
    const { gateway, logger } = terminal.process;
    const { findings, use } = await configurationFindings({}, { gateway, logger });
    expect(findings.map(({ level }) => level)).toEqual(["ok", "warning"]);
    expect(findings[1]?.message).toMatch(/^\d could be better; see: reveille check$/u);
    expect(use).toEqual({ count: 1, isolation: "none" });
    const [first] = await isolationFindings(use, async () => ({ words: "x", reports: [] }));
    expect(first?.level).toBe("warning");
    expect(first?.message).toMatch(/^hooks\.transforms\.isolation is none: they run inside the gateway/u);
  });

  it("distinguish a limit that is missing from one that holds by name only, and how much it matters", async () => {
    const reports = [
      { action: "write files", holds: true, by: "Node's permission model", detail: "ERR_ACCESS_DENIED" },
      { action: "reach the network", holds: true, by: "by name only", detail: "connected" },
      { action: "run for ever", holds: false, by: "nothing" },
    ];
    const tried = async () => ({ words: "network by name only", reports });
    const findings = await isolationFindings(withTransforms, tried);
    expect(findings.map(({ level, message }) => [level, message])).toEqual([
      [
        "ok",
        "the isolation was tried on this machine (network by name only); the log of a running gateway names the one that is active there",
      ],
      ["ok", "cannot write files: Node's permission model"],
      ["warning", "cannot reach the network, but by name only: code that gets around Node's functions can (connected)"],
      ["problem", "can run for ever: nothing on this machine prevents it"],
    ]);
    const levels = async (use: Parameters<typeof isolationFindings>[0]) =>
      (await isolationFindings(use, tried)).at(-1)?.level;
    expect(await levels(without)).toBe("warning");
    expect(await levels({ count: undefined, isolation: "process" })).toBe("warning");
    expect(await levels({ count: 1, isolation: "none" })).toBe("warning");
    expect((await isolationFindings({ count: 0, isolation: "none" }, tried))[0]).toMatchObject({ level: "ok" });
  });

  it("are a problem where isolation that are needed cannot be tried", async () => {
    const fail = () => Promise.reject(new Error("no process starts"));
    expect(await isolationFindings(withTransforms, fail)).toEqual([
      { level: "problem", about: "transforms", message: "what keeps them in could not be tried: no process starts" },
    ]);
    expect((await isolationFindings(without, fail))[0]?.level).toBe("warning");
  });

  it("look at the state folder: whether it is there, a folder, writable and its owner's alone", () => {
    using terminal = new TransformTerminal();
    const { homeDir } = terminal.process;
    const folder = join(homeDir, "state");
    expect(stateFinding(folder)).toMatchObject({ level: "ok", message: `${folder} is made at the first start` });
    mkdirSync(folder, { mode: 0o700 });
    expect(stateFinding(folder)).toMatchObject({
      level: "ok",
      message: `${folder} can be written to, by its owner alone`,
    });
    chmodSync(folder, 0o755);
    expect(stateFinding(folder)).toMatchObject({ level: "warning" });
    const file = join(homeDir, "file");
    writeFileSync(file, "");
    expect(stateFinding(file)).toMatchObject({ level: "problem", message: `${file} is not a folder` });
    expect(stateFinding("/proc/none/state")).toMatchObject({ level: "problem" });
    expect(stateFinding("/proc/self/task")).toMatchObject({ level: "problem" });
  });
});
