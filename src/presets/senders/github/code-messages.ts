import { itemLines, labeled, listAt, textAt, valueAt } from "../../../core/payload-text.ts";
import type { MessageLines } from "../../../core/payload-text.ts";
import { commitLines, shortSha } from "../../message/list-lines.ts";
import { bodyAt, counted, headline, lineAt, phrase, spoken, titled } from "../../message/headline.ts";
import { didTo, linkAt, refName } from "./github-view.ts";
import type { GithubView } from "./github-view.ts";

/** Events of code and of the repository itself. */
export const CODE_MESSAGES: Readonly<Record<string, (view: GithubView) => MessageLines>> = {
  push,
  create: (view) => [didTo(view, `created ${refOf(view)}`), bodyAt(view.payload, "description"), home(view)],
  delete: (view) => [didTo(view, `deleted ${refOf(view)}`), home(view)],
  fork,
  release,
  star,
  watch: (view) => [starred(view, "starred"), home(view)],
  member,
  repository,
  public: (view) => [headline(view.who, "made", repositoryOf(view), "public"), home(view)],
  gollum: wiki,
};

function push(view: GithubView): MessageLines {
  const { payload } = view;
  const ref = textAt(payload, "ref");
  const what = headline(ref.startsWith("refs/tags/") ? "tag" : "branch", lineAt({ ref: refName(ref) }, "ref"));
  const commits = listAt(payload, "commits");
  return [didTo(view, pushed(payload, what, commits.length)), commitLines(commits), textAt(payload, "compare")];
}

function pushed(payload: unknown, what: string, commits: number): string {
  if (valueAt(payload, "deleted") === true) return `deleted ${what}`;
  const news = commits > 0 ? ` with ${counted(commits, "commit")}` : "";
  if (valueAt(payload, "created") === true) return `created ${what}${news}`;
  const verb = valueAt(payload, "forced") === true ? "force-pushed" : "pushed";
  return commits > 0 ? `${verb} ${counted(commits, "commit")} to ${what}` : `${verb} ${what}`;
}

function refOf({ payload }: GithubView): string {
  return headline(lineAt(payload, "ref_type") || "ref", lineAt(payload, "ref"));
}

function fork({ payload, who }: GithubView): MessageLines {
  const to = lineAt(payload, "forkee.full_name");
  return [
    headline(who, "forked", lineAt(payload, "repository.full_name") || "a repository", phrase("to", to)),
    linkAt(payload, "forkee"),
  ];
}

function release(view: GithubView): MessageLines {
  const { payload, action } = view;
  const kind = valueAt(payload, "release.prerelease") === true ? "pre-release" : "release";
  const tag = lineAt(payload, "release.tag_name");
  const name = lineAt(payload, "release.name");
  return [
    didTo(view, headline(spoken(action) || "updated", kind, tag), name === tag ? "" : name),
    action === "deleted" ? "" : bodyAt(payload, "release.body"),
    linkAt(payload, "release"),
  ];
}

function star(view: GithubView): MessageLines {
  return [starred(view, view.action === "deleted" ? "removed the star from" : "starred"), home(view)];
}

function starred(view: GithubView, doing: string): string {
  const stars = lineAt(view.payload, "repository.stargazers_count");
  return headline(view.who, doing, repositoryOf(view), stars && `(stars: ${stars})`);
}

function member(view: GithubView): MessageLines {
  const { payload, action } = view;
  const who = lineAt(payload, "member.login") || "a collaborator";
  const permission = lineAt(payload, "changes.permission.to", "changes.role_name.to");
  const doing =
    action === "edited" ? `changed the permissions of ${who}` : `${spoken(action) || "updated"} collaborator ${who}`;
  return [didTo(view, doing), labeled("Permission", permission), home(view)];
}

function repository(view: GithubView): MessageLines {
  const { payload, action } = view;
  const name = repositoryOf(view);
  const doing =
    action === "publicized" || action === "privatized"
      ? `made ${name} ${action === "publicized" ? "public" : "private"}`
      : headline(spoken(action) || "updated", name);
  const former = lineAt(payload, "changes.repository.name.from");
  const owner = lineAt(payload, "changes.owner.from.user.login", "changes.owner.from.organization.login");
  return [
    headline(view.who, doing, phrase("from", former || owner)),
    action === "created" || action === "edited" ? bodyAt(payload, "repository.description") : "",
    home(view),
  ];
}

function wiki(view: GithubView): MessageLines {
  const pages = listAt(view.payload, "pages");
  return [didTo(view, `changed ${counted(pages.length, "wiki page")}`), itemLines(pages, wikiPage), home(view)];
}

function wikiPage(page: unknown): string {
  const line = titled(headline(lineAt(page, "action"), lineAt(page, "title", "page_name")), lineAt(page, "summary"));
  const link = textAt(page, "html_url");
  return line === "" && link === "" ? "" : headline("-", line, link);
}

function repositoryOf({ payload }: GithubView): string {
  return lineAt(payload, "repository.full_name") || "a repository";
}

function home({ payload }: GithubView): string {
  return linkAt(payload, "repository");
}

/** The commit that something is about: `Commit: 1a2b3c4 Fix login`. */
export function commitLine(sha: string, message: string): string {
  const [subject = ""] = message.split("\n", 1);
  return labeled("Commit", headline(shortSha(sha), subject.trim()));
}
