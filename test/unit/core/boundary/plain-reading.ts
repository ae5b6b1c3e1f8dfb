/**
 * An independent and slow reading of a text, to hold the boundary to: what is left when everything
 * invisible, every joint and every disguise that the tests use is gone. Shares nothing with src/.
 */
export function plainReading(text: string): string {
  let read = "";
  for (const char of text) read += DISGUISES.get(char) ?? char;
  read = read.normalize("NFKD").replace(/[\p{Cf}\p{Mn}\p{Me}\p{Default_Ignorable_Code_Point}]/gu, "");
  // Once more: a compatibility form may stand for a look-alike.
  return Array.from(read, (char) => DISGUISES.get(char) ?? char)
    .join("")
    .toLowerCase();
}

/** All boundary markers a reader could see, with their opening brackets, in order. */
export function markersRead(text: string): string[] {
  const compact = plainReading(text).replace(/[\s\p{Cc}_.~*'"`\\/+:=-]/gu, "");
  return Array.from(
    compact.matchAll(/<+(?:end)?externa[l1]untrustedc[o0]ntent(?:id[0-9a-f]*)?/g),
    ([marker]) => marker,
  );
}

export const OPENING = Array.from(
  "<\uFF1C\u2329\u3008\u2039\u27E8\uFE64\u00AB\u300A\u27EA\u27EC\u27EE\u276C\u276E\u02C2",
);
export const CLOSING = Array.from(
  ">\uFF1E\u232A\u3009\u203A\u27E9\uFE65\u00BB\u300B\u27EB\u27ED\u27EF\u276D\u276F\u02C3",
);

/** Cyrillic, Greek and other letters that look like the Latin letter on the left. */
export const HOMOGLYPHS: Readonly<Record<string, readonly string[]>> = {
  a: ["\u0430", "\u0410", "\u0391"],
  c: ["\u0441", "\u0421", "\u03F9"],
  d: ["\u0501"],
  e: ["\u0435", "\u0415", "\u0395"],
  i: ["\u0456", "\u0406", "\u0399"],
  l: ["\u029F", "1"],
  n: ["\u039D", "\u0578"],
  o: ["\u043E", "\u041E", "\u03BF", "\u039F", "0"],
  r: ["\u0280"],
  s: ["\u0455", "\u0405"],
  t: ["\u0422", "\u03A4"],
  u: ["\u057D", "\u1D1C"],
  x: ["\u0445", "\u0425", "\u03A7"],
};

const DISGUISES: ReadonlyMap<string, string> = new Map([
  ...OPENING.map((char) => [char, "<"] as const),
  ...CLOSING.map((char) => [char, ">"] as const),
  ...Object.entries(HOMOGLYPHS).flatMap(([letter, drawn]) =>
    drawn.filter((char) => char > "\u007f").map((char) => [char, letter] as const),
  ),
]);
