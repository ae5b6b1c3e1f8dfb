import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

/** A fenced code block of a page. */
export interface DocBlock {
  /** Page and line, as an editor opens it: `docs/use/mappings.md:42`. */
  readonly where: string;
  /** The heading of second level above it; empty before the first. */
  readonly section: string;
  /** The first word behind the fence; empty when there is none. */
  readonly language: string;
  /** The second one: the file that the block is, relative to the configuration's folder. */
  readonly file: string | undefined;
  readonly text: string;
}

export interface DocPage {
  /** From the root of the repository: `docs/use/mappings.md`. */
  readonly path: string;
  readonly text: string;
  readonly blocks: readonly DocBlock[];
}

/** README.md and every page of docs/, decisions included. */
export function readDocPages(): DocPage[] {
  const pages = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" });
  const paths = pages.filter((path) => path.endsWith(".md")).map((path) => `docs/${path}`);
  return ["README.md", ...paths.toSorted()].map(readDocPage);
}

/** One page by its path from the root of the repository. */
export function readDocPage(path: string): DocPage {
  const text = readFileSync(join(root, path), "utf8");
  return { path, text, blocks: [...findBlocks(path, text)] };
}

function* findBlocks(path: string, text: string): Generator<DocBlock> {
  const lines = text.split("\n");
  let section = "";
  for (let at = 0; at < lines.length; at++) {
    if (lines[at]!.startsWith("## ")) section = lines[at]!.slice(3);
    const fence = /^(`{3,})(\S*)(?: +(\S+))?$/.exec(lines[at]!.trimStart());
    if (fence === null) continue;
    const [, mark, language = "", file] = fence;
    const end = lines.findIndex((line, index) => index > at && line.trimStart() === mark);
    if (end === -1) throw new Error(`${path}:${at + 1}: the block has no end.`);
    const content = lines.slice(at + 1, end).map((line) => `${line}\n`);
    yield { where: `${path}:${at + 1}`, section, language, file, text: content.join("") };
    at = end;
  }
}
