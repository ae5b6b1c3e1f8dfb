/**
 * Characters that a reader takes for the ASCII character on the left, and compatibility decomposition does not
 * fold. Written as escapes: in most fonts the characters look like what they imitate.
 */
const DRAWN_ALIKE: Readonly<Record<string, string>> = {
  // The 26 brackets that the peer folds, then others that draw an angle.
  "<":
    "\uFF1C\u2329\u3008\u2039\u27E8\uFE64\u00AB\u300A\u27EA\u27EC\u27EE\u276C\u276E\u02C2" +
    "\u2264\u226A\u22D8\u2A7D\u227A\u2770\u2991\u29FC\u2AA1\u1438\u16B2\u25C0\u25C1\u25C2\u25C3\u2BC7\uA4F7",
  ">":
    "\uFF1E\u232A\u3009\u203A\u27E9\uFE65\u00BB\u300B\u27EB\u27ED\u27EF\u276D\u276F\u02C3" +
    "\u2265\u226B\u22D9\u2A7E\u227B\u2771\u2992\u29FD\u2AA2\u1433\u25B6\u25B7\u25B8\u25B9\u2BC8",
  "[": "\u2045\u27E6\u3010\u301A",
  "]": "\u2046\u27E7\u3011\u301B",
  "|": "\u00A6\u01C0\u2016\u2223\u23D0\u2502\u2503\u2758\u2759\uFFE8",
  "/": "\u2044\u2215\u2571\u29F8",
  "\\": "\u2216\u2572\u29F5\u29F9",
  _: "\u02CD\u2017\u203F\u2054\u2581",
  "-": "\u00AF\u02D7\u2010\u2012\u2013\u2014\u2015\u2043\u2212\u2500\u2501",
  ".": "\u00B7\u2022\u2024\u2027\u2219\u22C5\u30FB",
  ":": "\u02D0\u02F8\u2236\uA789",
  "=": "\u2550\u30A0\uA4FF",
  "*": "\u2217\u204E",
  '"': "\u201C\u201D\u201E\u201F\u2033\u2036\u02BA\u02EE\u3003\u275D\u275E",
  "'": "\u2018\u2019\u201A\u201B\u2032\u2035\u02B9\u02BC\u02BB\u00B4\u02CA\u02CB\u275B\u275C",
  " ": "\u2800",
  // Cyrillic, Greek, Coptic, Armenian, Cherokee, Lisu, Canadian, Gothic, Old Italic and Latin letters in the shape of another one.
  A: "\u{15E9}\u{1431}\u{10330}\u{10300}\u0410\u0391\u039B\u13AA\uA4EE\u1D00\u2C80\u2200",
  a: "\u0430\u03B1\u0251\u2C81",
  B: "\u{15F7}\u{10331}\u{10301}\u0412\u0392\u13F4\uA4D0\u0299",
  b: "\u042C\u0184",
  C: "\u{1455}\u{10302}\u0421\u03F9\u13DF\uA4DA\u1D04\u2CA4",
  c: "\u0441\u03F2\u2CA5",
  D: "\u{15EA}\u{15DE}\u{10333}\u{10303}\u13A0\uA4D3\u1D05\u00D0\u0110\u0414\u0394",
  d: "\u0501\u0111\u13E7",
  E: "\u{15F4}\u{156E}\u{10334}\u{10304}\u0415\u0395\u13AC\uA4F0\u1D07\u2C88\u03A3\u018E\u2203\u0404\u0246\u22FF",
  e: "\u0435\u03B5\u0454\u04BD\u0247\u212E\u2C89\u0259\u01DD",
  F: "\u{15B4}\u{10346}\u{10305}\u03DC\uA4DD\uA730",
  f: "\u0192",
  G: "\u050C\u13C0\u0262\uA4D6",
  g: "\u0261",
  H: "\u{157C}\u{10337}\u{10307}\u041D\u0397\u13BB\uA4E7\u029C",
  h: "\u04BB\u0570",
  I: "\u{10339}\u{10309}\u0406\u0399\u04C0\uA4F2\u026A\u2C92",
  i: "\u0456\u03B9\u0131\u0269\u04CF\u2C93",
  K: "\u{1033A}\u{1030A}\u041A\u039A\u13E6\uA4D7\u1D0B\u2C94",
  k: "\u043A\u03BA",
  L: "\u{14AA}\u{1033B}\u{1030B}\u13DE\uA4E1\u029F\u0141\u2CD0",
  l: "\u0142\u0196\u2CD1",
  M: "\u{15F0}\u{1033C}\u{1030C}\u041C\u039C\u13B7\uA4DF\u1D0D\u2C98",
  m: "\u043C",
  N: "\u{144E}\u{1033D}\u{1030D}\u039D\uA4E0\u0274\u2C9A\u0418",
  n: "\u0578\u057C\u043F\u03B7\u014B\u2C9B\u0438",
  O: "\u{10349}\u{10348}\u{1030F}\u041E\u039F\u0555\uA4F3\u1D0F\u2C9E\u00D8\u0398",
  o: "\u043E\u03BF\u03C3\u0585\u00F8\u2C9F\u0275",
  P: "\u{146D}\u{10340}\u{10310}\u0420\u03A1\u13E2\uA4D1\u1D18\u2CA2",
  p: "\u0440\u03C1\u2CA3",
  R: "\u{1587}\u{10342}\u{10313}\u13A1\u13D2\uA4E3\u0280\u042F\u024C",
  r: "\u0433\u024D\u2C85",
  S: "\u{1515}\u{10343}\u{10314}\u0405\u054F\u13DA\uA4E2\uA731",
  s: "\u0455\u01BD",
  T: "\u{10344}\u{10315}\u0422\u03A4\u13A2\uA4D4\u1D1B\u2CA6\u0166\u22A4",
  t: "\u0442\u03C4\u0167\u2CA7",
  U: "\u{144C}\u{1033F}\u{10316}\u054D\uA4F4\u1D1C\u222A\u22C3\u0531",
  u: "\u057D\u03C5\u028B\u0446",
  V: "\u{142F}\u0474\u13D9\uA4E6\u1D20",
  v: "\u0475\u03BD",
  W: "\u{15EF}\u051C\u13B3\uA4EA\u1D21",
  w: "\u051D\u0461",
  X: "\u{166D}\u{10347}\u{10317}\u0425\u03A7\u2CAC\uA4EB\u2573",
  x: "\u0445\u03C7\u2CAD\u00D7",
  Y: "\u0423\u03A5\u2CA8\uA4EC\u028F",
  y: "\u0443\u03B3",
  Z: "\u{1614}\u0396\u13C3\uA4DC\u1D22",
};

/** First code points of alphabets A to Z that Unicode gives no decomposition: negative circled, negative squared, flags. */
const ALPHABETS = [0x1_f1_50, 0x1_f1_70, 0x1_f1_e6];

/** One look-alike character -> the printable ASCII character it is read as. */
export const LOOK_ALIKES: ReadonlyMap<string, string> = new Map([
  ...Object.entries(DRAWN_ALIKE).flatMap(([ascii, drawn]) => Array.from(drawn, (char) => [char, ascii] as const)),
  ...ALPHABETS.flatMap((first) =>
    Array.from("ABCDEFGHIJKLMNOPQRSTUVWXYZ", (ascii, index) => [String.fromCodePoint(first + index), ascii] as const),
  ),
]);
