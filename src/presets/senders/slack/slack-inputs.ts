import { joinText, labeled, listAt, textAt, valueAt } from "../../../core/payload-text.ts";
import { asJson } from "../../message/data-lines.ts";
import { lineAt, oneLine } from "../../message/headline.ts";
import { timeText } from "../../message/value-text.ts";

/** The blocks of a form hold their inputs by action id: `{ block: { action: input } }`; a line each. */
export function inputsOf(payload: unknown): readonly string[] {
  const inputs = entriesOf(valueAt(payload, "view.state.values")).flatMap(([, block]) => entriesOf(block));
  return inputs.map(([name, input]) => labeled(oneLine(name) || "input", inputValue(input)));
}

/** Lists of ids that one may choose several of. */
const CHOSEN = ["selected_users", "selected_conversations", "selected_channels"];

/** What was written or chosen in an input; each kind has a key of its own. */
export function inputValue(input: unknown): string {
  const chosen = listAt(input, "selected_options").map((option) => textAt(option, "text.text", "value"));
  const ids = CHOSEN.flatMap((key) => listAt(input, key)).map((id) => lineAt(id, ""));
  const files = listAt(input, "files").map((file) => lineAt(file, "name", "title", "id"));
  const value = textAt(
    input,
    "value",
    "selected_option.text.text",
    "selected_option.value",
    "selected_date",
    "selected_time",
    "selected_user",
    "selected_conversation",
    "selected_channel",
  );
  const time = timeText(valueAt(input, "selected_date_time"));
  return joinText(", ", value, time, ...chosen, ...ids, ...files, asJson(valueAt(input, "rich_text_value.elements")));
}

/** The members of an object; none of anything else. */
export function entriesOf(value: unknown): readonly (readonly [string, unknown])[] {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
}
