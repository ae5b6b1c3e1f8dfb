import { textAt } from "../../../core/payload-text.ts";
import { headline, lineAt, phrase, titled } from "../../message/headline.ts";

/** A GitHub payload, with what every message about it begins with. */
export interface GithubView {
  readonly payload: unknown;
  /** `pull_request`. */
  readonly event: string;
  /** `opened`; empty when the event has none. */
  readonly action: string;
  /** The actor's name, or `Someone`. */
  readonly who: string;
  /** `in acme/app`, or the organization or enterprise; empty when there is none. */
  readonly where: string;
}

/** Reads what every message begins with. */
export function viewGithub(event: string | undefined, payload: unknown): GithubView {
  return {
    payload,
    event: event?.split(".", 1)[0] ?? "",
    action: lineAt(payload, "action"),
    who: lineAt(payload, "sender.login", "pusher.name", "pusher.login") || "Someone",
    where: phrase("in", lineAt(payload, "repository.full_name", "organization.login", "enterprise.slug")),
  };
}

/** `octo opened pull request #12 in acme/app: Fix login`. */
export function didTo({ who, where }: GithubView, doing: string, title = ""): string {
  return titled(headline(who, doing, where), title);
}

/** The branch or tag of a full ref: `refs/heads/main` is `main`. */
export function refName(ref: string): string {
  return ref.replace(/^refs\/(?:heads|tags)\//, "");
}

/** The page of the first object that has one. */
export function linkAt(payload: unknown, ...paths: readonly string[]): string {
  return textAt(payload, ...paths.map((path) => `${path}.html_url`));
}
