/** Strings, which may hold what looks like a comment, and comments. */
const TOKEN = /"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'|(\/\/|\/\*)/g;

/** True when a JSON5 text holds a comment. */
export function hasComments(text: string): boolean {
  return [...text.matchAll(TOKEN)].some(([, comment]) => comment !== undefined);
}
