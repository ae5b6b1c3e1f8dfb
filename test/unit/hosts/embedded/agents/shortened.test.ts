import { expect, it } from "vitest";
import { shortened } from "../../../../../src/hosts/embedded/agents/shortened.ts";

const message = (role: "user" | "assistant", text: string) => ({ role, text });
const result = (chars: number) => ({ role: "tool", tool_call_id: "c", content: "r".repeat(chars) });
const asked = [message("user", "now")];

it("leaves out the older half of the messages first, and begins with one of the user", () => {
  const messages = [message("user", "1"), message("assistant", "2"), message("user", "3"), message("assistant", "4")];
  const exchange = [result(9_000)];
  const once = shortened({ messages: [...messages, ...asked], exchange });
  expect(once).toEqual({ messages: asked, exchange });
});

it("leaves out the long results of tools then, the longest and those that are about as long first", () => {
  const call = { role: "assistant", content: "c".repeat(9_000) };
  const exchange = [call, result(9_000), result(5_000), result(2_000), result(10)];
  const once = shortened({ messages: asked, exchange })!;
  expect(once.exchange[0]).toBe(call);
  expect(once.exchange.slice(1, 3)).toEqual(
    [1, 2].map(() => expect.objectContaining({ role: "tool", tool_call_id: "c" })),
  );
  expect(JSON.stringify(once.exchange.slice(1, 3))).not.toContain("rr");
  expect(once.exchange.slice(3)).toEqual(exchange.slice(3));
  expect(shortened(shortened(once)!)).toBeUndefined();
});

it("leaves out nothing of what is asked now", () => {
  expect(shortened({ messages: [message("user", "x".repeat(1_000_000))], exchange: [] })).toBeUndefined();
});
