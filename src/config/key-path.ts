/** The way to a key of a configuration, from its root down. */
export type KeyPath = readonly (string | number)[];

const MAX_CHARACTERS = 60;

/** The path of a key for people: `agents.list[3].id`, `models["openai/gpt-5"]`. */
export function showKeyPath(path: KeyPath): string {
  let shown = "";
  for (const step of path) {
    if (typeof step === "number") shown += `[${step}]`;
    else if (!/^[\w$-]{1,60}$/.test(step)) shown += `[${JSON.stringify(shorten(step))}]`;
    else shown += shown === "" ? step : `.${step}`;
  }
  return shown;
}

/** A text for a message: what is too long is cut. */
export function shorten(text: string): string {
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}...` : text;
}
