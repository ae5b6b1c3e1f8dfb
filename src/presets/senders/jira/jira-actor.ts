import { textAt, valueAt } from "../../../core/payload-text.ts";

/** The places of the actor in a Jira event, best first; a comment's editor comes before its author. */
const PLACES = [
  "user",
  "comment.updateAuthor",
  "comment.author",
  "worklog.updateAuthor",
  "worklog.author",
  "attachment.author",
];

/** The account that caused an event, as Jira describes it; `undefined` when it does not say. */
export function jiraActor(payload: unknown): unknown {
  const place = PLACES.find((path) => textAt(payload, `${path}.displayName`, `${path}.accountId`) !== "");
  return place === undefined ? undefined : valueAt(payload, place);
}
