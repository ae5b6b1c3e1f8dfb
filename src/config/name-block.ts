/** Every key of the `hooks` block in a text, named as under the key at which a host has that block. */
export function nameBlock(text: string, block: string): string {
  return block === "hooks" ? text : text.replaceAll(/(?<![\w./-])hooks(?=\.[a-zA-Z]|\[)/gu, block);
}
