import type { Readable } from "node:stream";

const TAIL_CHARACTERS = 8_192;

/** The end of what a process writes to stderr, and how much it wrote since somebody last asked. */
export class ProcessOutput {
  #tail = "";
  #bytes = 0;

  constructor(stream: Readable, onData: (bytes: number) => void) {
    stream.on("data", (chunk: Buffer) => {
      this.#tail = (this.#tail + chunk.toString("latin1")).slice(-TAIL_CHARACTERS);
      this.#bytes += chunk.byteLength;
      onData(this.#bytes);
    });
    stream.on("error", () => {});
  }

  get tail(): string {
    return this.#tail;
  }

  /** The line that tells of an error, else the first with words in it, cut; for a program that could not start. */
  get complaint(): string {
    const line = /^\w*Error\b.*$/m.exec(this.#tail) ?? /\S.*/.exec(this.#tail);
    return (line?.[0] ?? "").replaceAll(/[^\x20-\x7e]+/g, " ").slice(0, 200);
  }

  forgive(): void {
    this.#bytes = 0;
  }
}
