import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { installPackages } from "../../../scripts/install-packages.ts";

const root = resolve(import.meta.dirname, "../../..");

interface Workflow {
  readonly permissions: object;
  readonly jobs: {
    readonly publish: { readonly permissions: object; readonly steps: readonly { readonly run?: string }[] };
  };
}

describe("a release", () => {
  it("is published with provenance and without a token, after the tests, with its parts listed", () => {
    const workflow = parse(readFileSync(join(root, ".github/workflows/release.yml"), "utf8")) as Workflow;
    expect(workflow.permissions).toEqual({});
    expect(workflow.jobs.publish.permissions).toEqual({ contents: "write", "id-token": "write" });
    const steps = workflow.jobs.publish.steps.flatMap(({ run = [] }) => run);
    const at = (text: string): number => steps.findIndex((step) => step.includes(text));
    const order = ["npm ci", "npm test", "npm pack", "scripts/sbom.ts", "npm publish --provenance", "gh release"];
    expect(order.map(at)).toEqual(order.map(at).toSorted((one, two) => one - two));
    expect(order.map(at)).not.toContain(-1);
    expect(JSON.stringify(workflow)).not.toContain("NODE_AUTH_TOKEN");
  });

  it("takes its version and the lines of the changelog from the changesets", () => {
    installPackages("scripts/release");
    const clone = mkdtempSync(join(tmpdir(), "reveille-release-"));
    onTestFinished(() => rmSync(clone, { recursive: true }));
    cpSync(join(root, ".changeset/config.json"), join(clone, ".changeset/config.json"));
    for (const name of ["package.json", "CHANGELOG.md"]) cpSync(join(root, name), join(clone, name));
    symlinkSync(join(root, "scripts"), join(clone, "scripts"));
    writeFileSync(join(clone, ".changeset/a-change.md"), '---\n"reveille": minor\n---\n\nA line of the test.\n');
    execFileSync("git", ["init", "--quiet", "--initial-branch=main"], { cwd: clone });

    const changesets = join(root, "scripts/release/node_modules/@changesets/cli/bin.js");
    execFileSync(process.execPath, [changesets, "version"], { cwd: clone });
    const versionOf = (folder: string): string[] =>
      (JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { version: string }).version.split(".");
    const [major, minor] = versionOf(root);
    expect(versionOf(clone)).toEqual([major, String(Number(minor) + 1), "0"]);
    const changelog = readFileSync(join(clone, "CHANGELOG.md"), "utf8");
    expect(changelog).toMatch(/^# Changelog\n/u);
    expect(changelog).toContain("A line of the test.");
    expect(readdirSync(join(clone, ".changeset"))).toEqual(["config.json"]);
  }, 120_000);
});
