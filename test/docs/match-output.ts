/** What stands for the parts of an output that differ from run to run. */
const PLACEHOLDERS: Readonly<Record<string, string>> = {
  "<id>": "[0-9a-f-]{8,}|[0-9a-z]{24}",
  "<time>": String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z`,
  "<number>": String.raw`\d+`,
  "<text>": String.raw`[\s\S]+`,
};

/**
 * True when an output is what a page shows, unit for unit but for its placeholders. White space around
 * either does not count.
 */
export function matchesText(output: string, shown: string): boolean {
  const parts = shown.trim().split(/(<(?:id|time|number|text)>)/);
  const pattern = parts.map((part) =>
    PLACEHOLDERS[part] ? `(?:${PLACEHOLDERS[part]})` : part.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`),
  );
  return new RegExp(`^${pattern.join("")}$`).test(output.trim());
}

/** The same for JSON: the order of keys counts, how the page breaks the lines does not. */
export function matchesJson(output: string, shown: string): boolean {
  return matchesText(compact(output), compact(shown));
}

function compact(json: string): string {
  return JSON.stringify(JSON.parse(json));
}
