/** How a tool of a server is shown to a model: what the server writes of it is someone else's text. */
import { removeHidden } from "../../../core/boundary/remove-hidden.ts";
import { sanitizeUntrusted } from "../../../core/boundary/sanitize-untrusted.ts";

/** A tool as an OpenAI-compatible endpoint is shown it. */
export interface ToolDefinition {
  readonly type: "function";
  readonly function: { readonly name: string; readonly description?: string; readonly parameters: object };
}

interface ListedTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: object;
}

/** The longest name that endpoints take. */
const MAX_NAME_CHARS = 64;
const MAX_DESCRIPTION_CHARS = 4_000;
const MAX_SCHEMA_CHARS = 50_000;

/** Bounded, without hidden text and markers of the boundary. */
export function toolDefinition(server: string, { name, description, inputSchema }: ListedTool): ToolDefinition {
  const described = description === undefined ? {} : { description: shown(description) };
  return {
    type: "function",
    function: {
      name: `${server}__${name.replaceAll(/[^A-Za-z0-9_-]/gu, "_")}`.slice(0, MAX_NAME_CHARS),
      ...described,
      parameters: parametersOf({ ...inputSchema, type: "object" }),
    },
  };
}

/** Two tools can come out with one name, since not every character may be shown: the second has a number. */
export function unusedName(name: string, taken: ReadonlyMap<string, unknown>): string {
  for (let number = 1; ; number++) {
    const tried = number === 1 ? name : `${name.slice(0, MAX_NAME_CHARS - 5)}_${number}`;
    if (!taken.has(tried)) return tried;
  }
}

function shown(description: string): string {
  return sanitizeUntrusted(removeHidden(description).text.slice(0, MAX_DESCRIPTION_CHARS));
}

/** The schema with its texts cleaned; one that is too long is left out. */
function parametersOf(schema: object): object {
  try {
    const text = JSON.stringify(schema);
    if (text.length <= MAX_SCHEMA_CHARS) return JSON.parse(sanitizeUntrusted(text)) as object;
  } catch {
    // No schema is better than one that is no JSON.
  }
  return { type: "object" };
}
