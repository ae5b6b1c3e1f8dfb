/** `extract` of a mapping and of a level: a model without tools fills a form, and the run sees the form alone. */
import Type, { type Static } from "typebox";
import type { ExtractSpec } from "../../core/extraction.ts";
import type { Findings } from "../errors.ts";
import { text } from "../schema-parts.ts";
import { readForm } from "./read-form.ts";

const MAX_INSTRUCTIONS = 4_096;

export const ExtractSchema = Type.Object(
  {
    schema: Type.Object(
      {},
      {
        description:
          "The form, a bounded part of JSON Schema: `object` with `properties` and `required`; `string` with `maxLength` and perhaps `pattern` (RE2, for the whole string); `enum` of strings; `integer` and `number` with `minimum` and `maximum`; `boolean`; `array` with `items` and `maxItems`; `description` everywhere. The outermost is an `object`.",
      },
    ),
    model: Type.Optional(
      text({
        description: "The model that fills the form, `<provider>/<model>` or an alias. Absent: that of the agent.",
        pattern: "\\S",
      }),
    ),
    instructions: Type.Optional(
      text({
        description: "Your words to the model that fills the form. Plain text without placeholders.",
        title: "text without placeholders",
        maxLength: MAX_INSTRUCTIONS,
      }),
    ),
  },
  {
    additionalProperties: false,
    description:
      "A model without tools, memory, channels and session fills this form from the rendered payload; the run sees the filled form and nothing else of the payload. What does not fit fails the run. For the action `agent`. See [extraction](extraction.md).",
  },
);

/** Reads the key; `where` is its own. `undefined` when its form is refused. */
export function readExtract(
  { schema, model, instructions }: Static<typeof ExtractSchema>,
  where: string,
  findings: Findings,
): ExtractSpec | undefined {
  if (instructions?.includes("{{") === true) {
    findings.refuse(`${where}.instructions`, "takes no placeholders: the payload is given to the model anyway");
  }
  const form = readForm(schema, `${where}.schema`, findings);
  return form && { form, model: model?.trim(), instructions: instructions?.trim() || undefined };
}
