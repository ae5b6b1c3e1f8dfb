/** A person as mail programs write one: `Ada Lovelace <ada@example.com>`, or whichever of the two there is. */
export function personText(name: string, address: string): string {
  if (name === "" || name === address) return address;
  return address === "" ? name : `${name} <${address}>`;
}
