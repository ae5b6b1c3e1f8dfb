import { itemLines, textAt } from "../../core/payload-text.ts";
import { headline, oneLine } from "./headline.ts";

const SHA_LENGTH = 7;

/**
 * Commits of a push, a line each: `- 1a2b3c4 Fix login (Ada)`. Reads the shapes of GitHub, GitLab,
 * Bitbucket and Gitea; of a message only the first line.
 */
export function commitLines(commits: readonly unknown[]): readonly string[] {
  return itemLines(commits, commitLine);
}

/** The first characters of a commit's id, enough for a person to recognize it. */
export function shortSha(sha: string): string {
  return sha.slice(0, SHA_LENGTH);
}

function commitLine(commit: unknown): string {
  const [subject = ""] = textAt(commit, "message", "title").split("\n", 1);
  const author = oneLine(textAt(commit, "author.user.display_name", "author.name", "author.username", "author.raw"));
  const line = headline(shortSha(textAt(commit, "id", "hash", "sha")), oneLine(subject), author && `(${author})`);
  return line === "" ? "" : `- ${line}`;
}
