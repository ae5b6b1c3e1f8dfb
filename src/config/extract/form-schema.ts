/** A form as a JSON Schema: what a model is shown, and what a filled one is checked by. */
import Type, { type TObject, type TSchema } from "typebox";
import type { ExtractField, ExtractForm } from "../../core/extraction.ts";

/** `patterns: false`: for a check, which takes patterns by RE2 and never by a regular expression of the language. */
export function formSchema(form: ExtractForm, options: { readonly patterns: boolean }): TObject {
  return objectSchema(form, options.patterns);
}

function objectSchema({ properties, required, description }: ExtractForm, patterns: boolean): TObject {
  const fields = Object.entries(properties).map(([name, property]) => {
    const schema = fieldSchema(property, patterns);
    return [name, required.includes(name) ? schema : Type.Optional(schema)] as const;
  });
  return Type.Object(Object.fromEntries(fields), { additionalProperties: false, ...described(description) });
}

function fieldSchema(field: ExtractField, patterns: boolean): TSchema {
  const words = described(field.description);
  switch (field.type) {
    case "object":
      return objectSchema(field, patterns);
    case "array":
      return Type.Array(fieldSchema(field.items, patterns), { maxItems: field.maxItems, ...words });
    case "string": {
      const { maxLength, pattern } = field;
      return Type.String({ maxLength, ...(patterns && pattern ? { pattern: `^(?:${pattern})$` } : {}), ...words });
    }
    case "enum":
      return Type.Enum([...field.values], words);
    case "integer":
      return Type.Integer({ minimum: field.minimum, maximum: field.maximum, ...words });
    case "number":
      return Type.Number({ minimum: field.minimum, maximum: field.maximum, ...words });
    case "boolean":
      return Type.Boolean(words);
  }
}

function described(description: string | undefined): { readonly description?: string } {
  return description === undefined ? {} : { description };
}
