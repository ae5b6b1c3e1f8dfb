import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { Interrupted } from "../../../src/cli/errors.ts";
import { answerAt } from "../../../src/cli/io.ts";

/** What comes of keys that are typed at a question. */
async function typed(keys: string, isEnd = false): Promise<string | number> {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const answer = answerAt({ input, output }, "Continue?");
  input.write(keys);
  if (isEnd) input.end();
  return answer.catch((error: unknown) => (error instanceof Interrupted ? error.exitCode : String(error)));
}

it("takes an answer from a terminal, none for Ctrl-D and where the terminal is gone, and ends at Ctrl-C with its code", async () => {
  expect(await typed("yes\r")).toBe("yes");
  expect(await typed("ye\u0003")).toBe(130);
  expect(await typed("\u0004")).toBe("");
  expect(await typed("", true)).toBe("");
});
