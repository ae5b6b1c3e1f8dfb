/** `workspace` of a mapping: where its agent works. */
import Type, { type Static } from "typebox";
import type { Findings } from "./errors.ts";
import { template, text } from "./schema-parts.ts";

export const WorkspaceSchema = Type.Object(
  {
    path: Type.Optional(text({ description: "A folder, as an absolute path.", pattern: "^/" })),
    git: Type.Optional(
      text({
        description:
          "URL of a git repository, of which each session gets a working copy: that of an isolated run is removed with it.",
        pattern: "^(https?|ssh|git|file)://|^[\\w.-]+@[\\w.-]+:",
      }),
    ),
    ref: Type.Optional(
      template(
        "Branch, tag, commit or full ref of the copy; a template. What it comes out as may have letters, digits, `.`, `_`, `/` and `-` only. Absent: the repository's own HEAD.",
      ),
    ),
  },
  {
    additionalProperties: false,
    description: "Where the agent of the mapping works: a folder, or a working copy of a git repository.",
  },
);

export interface WorkspaceConfig {
  readonly path?: string | undefined;
  /** `ref`: a template. */
  readonly git?: { readonly url: string; readonly ref: string } | undefined;
}

export function readWorkspace(
  { path, git, ref }: Static<typeof WorkspaceSchema>,
  where: string,
  findings: Findings,
): WorkspaceConfig {
  if ((path === undefined) === (git === undefined)) findings.refuse(where, "needs either a path or git");
  if (path !== undefined && ref !== undefined) findings.refuse(`${where}.ref`, "has no effect without git");
  return git === undefined ? { path } : { git: { url: git, ref: ref ?? "HEAD" } };
}

/** True for a ref that git takes as nothing else: no option, no range, no path upwards. */
export function isSafeRef(ref: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._/-]{0,200}$/u.test(ref) && !ref.includes("..") && !ref.endsWith(".lock");
}
