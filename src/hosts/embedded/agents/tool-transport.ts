/** The ways to a tool server, both bounded: the streams of a program, and HTTP. */
import type { MCPTransport } from "@ai-sdk/mcp";
import { Output, Program, type ProgramStart } from "../programs/program.ts";

const MAX_STDERR_BYTES = 2_000;
/** A longer line of a server that is a program ends it. */
const MAX_LINE_BYTES = 16_777_216;
const LINE_FEED = 0x0a;
/** A longer answer of a server over HTTP, or stream of answers, is not read on. */
const MAX_RESPONSE_BYTES = 16_777_216;

/** For the end of a session at its server, which would end by itself. */
const END_MS = 2_000;

/** `fetch` for the library, which reads an answer to its end, and waits for the end of a session as long as it takes. */
export async function boundedFetch(...[url, init]: Parameters<typeof fetch>): Promise<Response> {
  const isEnd = init?.method === "DELETE";
  const response = await fetch(url, isEnd ? { ...init, signal: AbortSignal.timeout(END_MS) } : init);
  if (response.body === null) return response;
  let bytes = 0;
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => {
      bytes += chunk.length;
      if (bytes <= MAX_RESPONSE_BYTES) controller.enqueue(chunk);
      else controller.error(new Error(`the answer is longer than ${MAX_RESPONSE_BYTES} bytes`));
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(counted), { status, statusText, headers });
}

/** JSON lines over the standard streams of a program. */
export class ProgramTransport implements MCPTransport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: MCPTransport["onmessage"];
  readonly #start: ProgramStart;
  #starting: Promise<Program> | undefined;
  #program: Program | undefined;
  #stderr: Output | undefined;
  #problem: Error | undefined;

  constructor(start: ProgramStart) {
    this.#start = start;
  }

  async start(): Promise<void> {
    try {
      this.#starting = Program.start(this.#start);
      this.#program = await this.#starting;
    } catch (error) {
      this.#problem = error as Error;
      throw error;
    }
    const { stdout, stderr, ended } = this.#program;
    this.#stderr = new Output(stderr, MAX_STDERR_BYTES);
    // Not `node:readline`: it ends a line at U+2028 and U+2029 as well, which JSON may hold as they are.
    let begun: Buffer[] = [];
    let bytes = 0;
    stdout.on("data", (chunk: Buffer) => {
      let from = 0;
      for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, from)) {
        this.#take(Buffer.concat([...begun, chunk.subarray(from, end)]).toString());
        begun = [];
        bytes = 0;
        from = end + 1;
      }
      begun.push(chunk.subarray(from));
      bytes += chunk.length - from;
      if (bytes <= MAX_LINE_BYTES) return;
      // It may write on until it has ended, and ignore that it is asked to.
      stdout.destroy();
      begun = [];
      this.#problem ??= new Error(`it wrote a message of more than ${MAX_LINE_BYTES} bytes`);
      void this.close();
    });
    void ended.then(
      ({ code, killedBy }) => this.#end(new Error(`it ended with ${killedBy ?? `status ${code}`}`)),
      (error: Error) => this.#end(error),
    );
  }

  send(message: object): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = (error?: Error | null): void => (error ? reject(error) : resolve());
      this.#program?.stdin.write(`${JSON.stringify(message)}\n`, done);
    });
  }

  /** Also ends what is still being started. */
  async close(): Promise<void> {
    const program = await this.#starting?.catch(() => undefined);
    await program?.end();
  }

  /** Why it did not start or has ended, with what it said; empty while it runs. */
  async problem(): Promise<string> {
    await this.close();
    await this.#program?.ended.catch(() => undefined);
    const said = this.#stderr?.text.trim() ?? "";
    return this.#problem === undefined ? said : `${this.#problem.message}${said === "" ? "" : `: ${said}`}`;
  }

  #take(line: string): void {
    try {
      this.onmessage?.(JSON.parse(line) as Parameters<NonNullable<MCPTransport["onmessage"]>>[0]);
    } catch {
      // A server that writes its log to standard output.
    }
  }

  #end(error: Error): void {
    this.#problem ??= error;
    this.onerror?.(error);
    this.onclose?.();
  }
}
