import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { ERRORS, OPERATOR_ERRORS } from "../../src/core/errors.ts";
import type { DocBlock } from "./doc-blocks.ts";
import { matchesJson, matchesText } from "./match-output.ts";
import { NpmStart } from "./npm-start.ts";
import { PageGateway } from "./page-gateway.ts";
import { PageHome } from "./page-home.ts";
import type { ShellResult } from "./page-home.ts";

/** Languages of blocks that may be files. */
const FILES: ReadonlySet<string> = new Set(["json", "ts", "nginx", "caddyfile", "yaml"]);
const PATIENCE_MS = 30_000;

const { scripts } = JSON.parse(readFileSync(join(import.meta.dirname, "../../package.json"), "utf8")) as {
  readonly scripts: Readonly<Record<string, string>>;
};
/** What pages tell to type besides what a shell can run here: `npm ci` would replace what runs this test. */
const NPM_COMMANDS = ["npm ci", ...["start", "test"].filter((name) => name in scripts).map((name) => `npm ${name}`)];

/** Does what a page says, block by block: see `blocks.test.ts`. */
export class PageRun {
  readonly gateway: PageGateway;
  #section = "";

  /** `secrets` are environment variables that the page's configurations and scripts use. */
  constructor(secrets: Readonly<Record<string, string>>) {
    this.gateway = new PageGateway(secrets);
  }

  /** `answer` is the block behind a script, when it shows what the script prints. */
  async run(block: DocBlock, answer: DocBlock | undefined): Promise<void> {
    if (block.section !== this.#section) await this.gateway.configure("{}");
    this.#section = block.section;
    if (block.file !== undefined && FILES.has(block.language)) return this.gateway.home.write(block.file, block.text);
    if (block.language === "json5") return await this.gateway.configure(block.text);
    if (block.language !== "sh") throw new Error(`${block.where}: nobody knows how to run "${block.language}".`);
    if (!block.text.split("\n").includes("npm start")) return await this.#shell(block, answer);
    for (const command of block.text.trim().split("\n")) expect(NPM_COMMANDS).toContain(command);
    await this.#start(answer);
  }

  async #shell(block: DocBlock, answer: DocBlock | undefined): Promise<void> {
    const script = () => this.gateway.shell(block.text);
    let result = await script();
    const deadline = Date.now() + PATIENCE_MS;
    // What happens to a call is seen a moment later; to read it again changes nothing.
    while (onlyReads(block) && !isAsShown(result, answer) && Date.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      result = await script();
    }
    const log = this.gateway.log();
    if (answer !== undefined && !isAsShown(result, answer)) expect(result.out, `log:\n${log}`).toBe(answer.text);
    expect(result, `log:\n${log}`).toMatchObject({ code: 0, err: "" });
    expect(result.statuses, `log:\n${log}`).toEqual(
      result.statuses.map((status) => shownStatus(answer) ?? success(status)),
    );
  }

  /** `npm start` in an empty home, up to the line that it prints when it is ready. */
  async #start(answer: DocBlock | undefined): Promise<void> {
    const home = new PageHome();
    const npm = new NpmStart(home);
    try {
      const { port } = new URL(await npm.url);
      if (answer !== undefined) expect(npm.out).toBe(answer.text.replace("18789", port));
    } finally {
      await npm.interrupt();
      home.remove();
    }
  }
}

/** True for a block that shows what the script before it prints. */
export function isAnswer({ file, language }: DocBlock): boolean {
  return file === undefined && (language === "json" || language === "text");
}

function isAsShown({ out }: ShellResult, answer: DocBlock | undefined): boolean {
  if (answer === undefined) return true;
  if (answer.language === "text") return matchesText(out, answer.text);
  try {
    return matchesJson(out, answer.text);
  } catch {
    return false;
  }
}

/** Commands that change nothing. */
const READING = /^npm run --silent reveille -- (?:deliveries (?:list|show)|hooks list)\b[^\n]*\n$/;

function onlyReads({ text }: DocBlock): boolean {
  return READING.test(text) || (text.includes("curl") && !/ (?:-X|-d|--data\S*|--request) /.test(text));
}

/** The status that belongs to the error a page shows, if it shows one. */
function shownStatus(answer: DocBlock | undefined): number | undefined {
  const code = /"code": "([A-Z0-9_]+)"/.exec(answer?.text ?? "")?.[1];
  const known: Readonly<Record<string, { readonly status: number } | undefined>> = { ...OPERATOR_ERRORS, ...ERRORS };
  return code === undefined ? undefined : known[code]?.status;
}

function success(status: number): number {
  return status >= 200 && status < 300 ? status : 200;
}
