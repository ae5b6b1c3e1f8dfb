import { valueAt } from "../../../core/payload-text.ts";
import { headline, lineAt, phrase, spoken } from "../../message/headline.ts";

type Phrase = (item: string, payload: unknown) => string;

const PHRASES: ReadonlyMap<string, Phrase> = new Map<string, Phrase>([
  ["closed", (item, payload) => `${valueAt(payload, "pull_request.merged") === true ? "merged" : "closed"} ${item}`],
  ["synchronize", (item) => `pushed new commits to ${item}`],
  ["ready_for_review", (item) => `marked ${item} as ready for review`],
  ["converted_to_draft", (item) => `turned ${item} into a draft`],
  ["labeled", (item, payload) => `labeled ${headline(item, quoted("as", labelOf(payload)))}`],
  ["unlabeled", (item, payload) => `removed the label ${headline(quoted("", labelOf(payload)), "from", item)}`],
  ["assigned", (item, payload) => `assigned ${headline(item, phrase("to", lineAt(payload, "assignee.login")))}`],
  ["unassigned", (item, payload) => `unassigned ${headline(item, phrase("from", lineAt(payload, "assignee.login")))}`],
  ["review_requested", (item, payload) => `asked for a review of ${headline(item, phrase("by", reviewerOf(payload)))}`],
  [
    "review_request_removed",
    (item, payload) => `no longer asks for a review of ${headline(item, phrase("by", reviewerOf(payload)))}`,
  ],
  ["milestoned", (item, payload) => `added ${item} to ${milestoneOf(payload)}`],
  ["demilestoned", (item, payload) => `removed ${item} from ${milestoneOf(payload)}`],
  [
    "transferred",
    (item, payload) =>
      `transferred ${headline(item, phrase("to", lineAt(payload, "changes.new_repository.full_name")))}`,
  ],
  [
    "category_changed",
    (item, payload) => `moved ${headline(item, phrase("to", lineAt(payload, "discussion.category.name")))}`,
  ],
  ["answered", (item) => `marked an answer of ${item}`],
  ["unanswered", (item) => `unmarked the answer of ${item}`],
  ["auto_merge_enabled", (item) => `enabled auto-merge of ${item}`],
  ["auto_merge_disabled", (item) => `disabled auto-merge of ${item}`],
  ["enqueued", (item) => `added ${item} to the merge queue`],
  ["dequeued", (item) => `removed ${item} from the merge queue`],
]);

/** An action on an issue, pull request or discussion, in words: `assigned issue #3 to octo`. */
export function itemPhrase(action: string, item: string, payload: unknown): string {
  const phrase = PHRASES.get(action);
  return phrase ? phrase(item, payload) : headline(spoken(action) || "updated", item);
}

function labelOf(payload: unknown): string {
  return lineAt(payload, "label.name");
}

function quoted(word: string, name: string): string {
  return name === "" ? "" : headline(word, `"${name}"`);
}

function reviewerOf(payload: unknown): string {
  return lineAt(payload, "requested_reviewer.login", "requested_team.name");
}

function milestoneOf(payload: unknown): string {
  return headline("the milestone", lineAt(payload, "milestone.title", "issue.milestone.title"));
}
