import type { Readable } from "node:stream";

/** More of one line is read and dropped. */
const MAX_LINE_CHARS = 8_192;
/** A sequence of a terminal, such as a color. */
// eslint-disable-next-line no-control-regex -- these are what is looked for
const TERMINAL = /\u001B\[[0-9;?]*[ -/]*[@-~]/gu;

/**
 * Resolves when the program writes no more. Calls back with each line that a program writes, without what colors it. A program may write without end and
 * without a line break: no more than one line is kept, cut to its bound.
 */
export function onLines(stream: Readable, onLine: (line: string) => void): Promise<void> {
  const closed = new Promise<void>((resolve) => stream.once("close", resolve));
  let line = "";
  const end = (): void => {
    const plain = line.replaceAll(TERMINAL, "").trim();
    line = "";
    if (plain !== "") onLine(plain);
  };
  stream.setEncoding("utf8");
  stream.on("data", (text: string) => {
    const parts = text.split(/[\r\n]/u);
    for (const [at, part] of parts.entries()) {
      if (at > 0) end();
      if (line.length < MAX_LINE_CHARS) line += part.slice(0, MAX_LINE_CHARS - line.length);
    }
  });
  stream.on("end", end);
  // The end of the program is noticed by itself.
  stream.on("error", () => undefined);
  return closed;
}
