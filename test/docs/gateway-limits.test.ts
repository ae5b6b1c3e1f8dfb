import { expect, it } from "vitest";
import { STATE_LIMITS } from "../../src/hosts/embedded/state/operations.ts";
import { SESSION_LIMITS } from "../../src/hosts/shared/state-operations.ts";
import { readDocPage } from "./doc-blocks.ts";
import { tableRows } from "./table-rows.ts";

it("docs/operate/gateway.md has the limits of what the embedded gateway keeps as they are", () => {
  const [, table = ""] = /\| kept \| at most \|\n([^]*?)\n\n/.exec(readDocPage("docs/operate/gateway.md").text) ?? [];
  const shown = tableRows(`| kept | at most |\n${table}`).map(([kept, most = ""]) => [kept, Number(firstNumber(most))]);
  expect(Object.fromEntries(shown)).toEqual({
    "events waiting in one session": SESSION_LIMITS.maxPendingEvents,
    "one event": SESSION_LIMITS.maxEventChars,
    "messages of a main session": STATE_LIMITS.maxSessionMessages,
    "messages of a session of runs": STATE_LIMITS.maxRunSessionMessages,
    "sessions of runs": STATE_LIMITS.maxRunSessions,
    "one message": STATE_LIMITS.maxMessageChars,
    "messages in the outbox": STATE_LIMITS.maxOutboxMessages,
  });
  expect(SESSION_LIMITS.maxPendingBytes).toBe(64 * 1024 * 1024);
});

function firstNumber(text: string): string {
  return /[\d,]*\d/.exec(text)?.[0].replaceAll(",", "") ?? "";
}
