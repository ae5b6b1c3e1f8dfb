import { definePreset } from "../define-preset.ts";
import { clip, itemLines, joinText, labeled, listAt, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import type { PresetEvent } from "../preset.ts";
import { headline, lineAt, phrase, titled } from "../message/headline.ts";
import { decimalAmount } from "../message/value-text.ts";
import { timeText } from "../message/value-text.ts";
import { genericMessage } from "../message/unknown-event.ts";

const MAX_QUESTION = 120;
const MAX_ANSWER = 1_000;
const MAX_ANSWERS = 40;
const MAX_CHOICES = 100;

/** Answers to forms of Typeform. */
export const typeform = definePreset({
  name: "typeform",
  title: "Typeform",
  documentation: "https://www.typeform.com/developers/webhooks/",
  auth: {
    scheme: "signature",
    from: "header:typeform-signature",
    prefix: "sha256=",
    encoding: "base64",
    content: "{body}",
  },
  secret: { label: "Secret", madeBy: "owner" },
  event: "body:event_type",
  deliveryId: { from: "body:event_id", signed: true },
  message,
  mapping: { name: "Typeform", maxBodyBytes: 1_048_576 },
  success: {
    statuses: "2xx",
    otherwise:
      "408, 423, 429 and 503: tries again for 10 hours; 404 and 410: disables the webhook; else tries some times more within hours",
  },
  ignored: "nothing. Typeform marks no bots",
  samples: {
    form_response: {
      payload: {
        event_id: "01SAMPLEFORMRESPONSE",
        event_type: "form_response",
        form_response: {
          form_id: "lT4Z3j",
          token: "a3a12ec67a1365927098a606107fac15",
          submitted_at: "2026-11-20T11:59:30Z",
          landed_at: "2026-11-20T11:50:00Z",
          calculated: { score: 9 },
          hidden: { customer: "1001" },
          definition: {
            id: "lT4Z3j",
            title: "After the workshop",
            fields: [
              { id: "F1", title: "What is your name?", type: "short_text", ref: "name" },
              { id: "F2", title: "Where can we reach you?", type: "email", ref: "email" },
              { id: "F3", title: "Which parts did you like?", type: "multiple_choice", ref: "parts" },
              { id: "F4", title: "Would you come again?", type: "yes_no", ref: "again" },
              { id: "F5", title: "How was it?", type: "rating", ref: "rating" },
            ],
          },
          answers: [
            { type: "text", text: "Ada Byron", field: { id: "F1", type: "short_text", ref: "name" } },
            { type: "email", email: "ada@example.com", field: { id: "F2", type: "email", ref: "email" } },
            {
              type: "choices",
              choices: { labels: ["Talks", "Tea"], other: "The garden" },
              field: { id: "F3", type: "multiple_choice", ref: "parts" },
            },
            { type: "boolean", boolean: true, field: { id: "F4", type: "yes_no", ref: "again" } },
            { type: "number", number: 5, field: { id: "F5", type: "rating", ref: "rating" } },
          ],
        },
      },
    },
    form_response_partial: {
      payload: {
        event_id: "01SAMPLEFORMPARTIAL",
        event_type: "form_response_partial",
        form_response: {
          form_id: "lT4Z3j",
          token: "b4a12ec67a1365927098a606107fac16",
          landed_at: "2026-11-20T11:52:00Z",
          definition: {
            id: "lT4Z3j",
            title: "After the workshop",
            fields: [{ id: "F1", title: "What is your name?", type: "short_text", ref: "name" }],
          },
          answers: [{ type: "text", text: "Grace", field: { id: "F1", type: "short_text", ref: "name" } }],
        },
      },
    },
  },
  setup: [
    "In Typeform open the form, Connect, Webhooks, and add a webhook with {url} as its endpoint.",
    "Edit it, paste the {secret}, which you choose, as its secret, and turn SSL verification on.",
    "Turn the webhook on; Typeform's test is signed like an answer.",
  ],
});

function message({ payload, event }: PresetEvent): string {
  const response = valueAt(payload, "form_response");
  const answers = listAt(response, "answers");
  const title = lineAt(response, "definition.title");
  const ids = [
    labeled("Form", lineAt(response, "form_id")),
    labeled("Response", lineAt(response, "token")),
    labeled("Event", lineAt(payload, "event_id")),
  ];
  if (title === "" && answers.length === 0)
    return genericMessage({ title: "Typeform", event, object: payload, lines: ids });
  const isPartial = event === "form_response_partial";
  const who = answers.map((answer) => lineAt(answer, "email")).find((email) => email !== "") ?? "";
  const questions = questionsOf(response);
  return messageOf(
    titled(headline(isPartial ? "Unfinished answer to a form" : "New answer to a form", phrase("from", who)), title),
    itemLines(answers, (answer) => answerLine(answer, questions), MAX_ANSWERS),
    labeled("Score", textAt(response, "calculated.score")),
    hiddenLines(response),
    labeled("Submitted", timeText(valueAt(response, "submitted_at"))),
    ids,
  );
}

/** Titles of the questions by the ids of their fields. */
function questionsOf(response: unknown): ReadonlyMap<string, string> {
  const fields = listAt(response, "definition.fields");
  return new Map(fields.map((field) => [lineAt(field, "id"), clip(lineAt(field, "title"), MAX_QUESTION)]));
}

function answerLine(answer: unknown, questions: ReadonlyMap<string, string>): string {
  const question = questions.get(lineAt(answer, "field.id")) ?? "";
  return labeled(
    question === "" ? lineAt(answer, "field.ref") || "Answer" : question,
    clip(answerText(answer), MAX_ANSWER),
  );
}

/** Each type of answer has a key of its own. */
function answerText(answer: unknown): string {
  const yesOrNo = valueAt(answer, "boolean");
  if (typeof yesOrNo === "boolean") return yesOrNo ? "yes" : "no";
  const labels = listAt(answer, "choices.labels").slice(0, MAX_CHOICES).map(lineOf);
  const chosen = joinText(", ", ...labels, lineAt(answer, "choices.other"));
  if (chosen !== "") return chosen;
  const paid = decimalAmount(valueAt(answer, "payment.amount"), valueAt(answer, "payment.currency"));
  return (
    textAt(
      answer,
      "text",
      "email",
      "phone_number",
      "number",
      "date",
      "url",
      "file_url",
      "choice.label",
      "choice.other",
    ) || paid
  );
}

/** Fields that came with the form's URL, such as who was invited. */
function hiddenLines(response: unknown): readonly string[] {
  const hidden = valueAt(response, "hidden");
  if (typeof hidden !== "object" || hidden === null) return [];
  return itemLines(Object.entries(hidden), (field) => labeled(lineAt(field, "[0]"), lineAt(field, "[1]")));
}

function lineOf(value: unknown): string {
  return lineAt(value, "");
}
