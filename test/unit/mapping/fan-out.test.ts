import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isRefusal } from "../../../src/core/errors.ts";
import { compileForEach, fanOut } from "../../../src/mapping/fan-out.ts";
import { renderAction } from "../../../src/mapping/render-action.ts";
import { mappingOf, NOW, requestWith } from "./mappings.ts";

const payloads = (payload: unknown, key = "messages", maxItems = 200): unknown => {
  const contexts = fanOut(requestWith(payload), compileForEach(key), maxItems);
  return isRefusal(contexts) ? contexts : contexts.map((context) => context.payload);
};

describe("forEach", () => {
  it("absent leaves the request as it is", () => {
    const context = requestWith({ messages: [1, 2] });
    expect(fanOut(context, undefined, 1)).toEqual([context]);
  });

  it("makes one context for each item, whose payload has that item alone in the array's place", () => {
    expect(payloads({ account: "me", messages: ["a", "b"] })).toEqual([
      { account: "me", messages: ["a"] },
      { account: "me", messages: ["b"] },
    ]);
  });

  it("keeps everything else of the request", () => {
    const around = { path: "mail", headers: { "x-a": "1" }, query: { q: "2" }, now: NOW };
    const [context] = fanOut(
      requestWith({ messages: [1] }, around),
      compileForEach("messages"),
      5,
    ) as readonly unknown[];
    expect(context).toEqual({ ...around, payload: { messages: [1] } });
  });

  it("leaves the payload that came in untouched", () => {
    const payload = { messages: [{ id: 1 }, { id: 2 }] };
    payloads(payload);
    expect(payload).toEqual({ messages: [{ id: 1 }, { id: 2 }] });
  });

  it("lets one template serve every item", () => {
    const mapping = mappingOf({ messageTemplate: "{{messages[0].id}} of {{account}}", forEach: "messages" });
    const contexts = fanOut(
      requestWith({ account: "me", messages: [{ id: 1 }, { id: 2 }] }),
      compileForEach("messages"),
      5,
    );
    const actions = (contexts as ReturnType<typeof requestWith>[]).map((context) => renderAction(mapping, context));
    expect(actions).toMatchObject([{ message: "1 of me" }, { message: "2 of me" }]);
  });

  it("of an empty array makes no context", () => {
    expect(payloads({ messages: [] })).toEqual([]);
  });

  it("keeps items that are null, false or lists themselves", () => {
    expect(payloads({ messages: [null, false, [1]] })).toEqual([
      { messages: [null] },
      { messages: [false] },
      { messages: [[1]] },
    ]);
  });

  it("takes as many items as the bound says", () => {
    expect(payloads({ messages: [1, 2, 3] }, "messages", 3)).toHaveLength(3);
  });

  it("spec 7: over the bound refuses the whole request with 413 and says what to do, dropping no tail", () => {
    expect(payloads({ messages: [1, 2, 3, 4] }, "messages", 3)).toEqual({
      refused: "BODY_TOO_LARGE",
      message:
        "payload.messages has 4 items; this gateway takes at most 3 in one request. Nothing was accepted: send it in parts.",
      retryAfterSeconds: undefined,
    });
  });

  it.each<[string, unknown]>([
    ["absent", {}],
    ["null", { messages: null }],
    ["an object", { messages: { 0: "a", length: 1 } }],
    ["a text", { messages: "ab" }],
    ["inherited", Object.create({ messages: [1] })],
    ["a key of a list", [1]],
    ["a key of nothing", null],
    ["a key of a text", "messages"],
  ])("spec 7: of what is %s is an invalid payload", (_case, payload) => {
    expect(payloads(payload)).toMatchObject({
      refused: "INVALID_PAYLOAD",
      message: "payload.messages must be an array.",
    });
  });

  it("never adds, drops or reorders items", () => {
    fc.assert(
      fc.property(
        fc.array(fc.jsonValue(), { maxLength: 20 }),
        fc.integer({ min: 1, max: 20 }),
        (messages, maxItems) => {
          const contexts = fanOut(requestWith({ messages, other: 1 }), compileForEach("messages"), maxItems);
          if (messages.length > maxItems) {
            expect(contexts).toMatchObject({ refused: "BODY_TOO_LARGE" });
            return;
          }
          const items = (contexts as ReturnType<typeof requestWith>[]).map(({ payload }) => {
            expect(payload).toMatchObject({ other: 1 });
            return (payload as { messages: unknown[] }).messages[0];
          });
          expect(items).toEqual(messages);
        },
      ),
    );
  });

  it.each([
    [
      "data.items",
      { data: { items: [1, 2], kept: true }, other: 1 },
      (item: number) => ({ data: { items: [item], kept: true }, other: 1 }),
    ],
    ["payload.items", { items: [1, 2] }, (item: number) => ({ items: [item] })],
    [
      "a.b[0].list",
      { a: { b: [{ list: [1, 2] }, "rest"] } },
      (item: number) => ({ a: { b: [{ list: [item] }, "rest"] } }),
    ],
    ["a[1]", { a: ["x", [1, 2]] }, (item: number) => ({ a: ["x", [item]] })],
    ["a b.c-d", { "a b": { "c-d": [1, 2] } }, (item: number) => ({ "a b": { "c-d": [item] } })],
    ["[]", [1, 2], (item: number) => [item]],
  ])("finds the array at %s and leaves everything around it", (path, payload, expected) => {
    const before = structuredClone(payload);
    expect(payloads(payload, path)).toEqual([expected(1), expected(2)]);
    expect(payload).toEqual(before);
  });

  it("copies only what lies on the way to the array", () => {
    const payload = { data: { items: [1] }, beside: { large: true } };
    const [item] = payloads(payload, "data.items") as (typeof payload)[];
    expect(item!.beside).toBe(payload.beside);
    expect(item!.data).not.toBe(payload.data);
  });

  it("lets one template serve every item of an array inside", () => {
    const mapping = mappingOf({ messageTemplate: "{{data.items[0].id}} {{kind}}", forEach: "data.items" });
    const contexts = fanOut(
      requestWith({ kind: "k", data: { items: [{ id: 1 }, { id: 2 }] } }),
      compileForEach("data.items"),
      5,
    );
    const actions = (contexts as ReturnType<typeof requestWith>[]).map((context) => renderAction(mapping, context));
    expect(actions).toMatchObject([{ message: "1 k" }, { message: "2 k" }]);
  });

  it.each<[string, unknown]>([
    ["data.items", { data: null }],
    ["data.items", { data: [[1]] }],
    ["data.items", { data: Object.create({ items: [1] }) }],
    ["data[0]", { data: { 0: [1] } }],
    ["data.length", { data: [1] }],
    ["__proto__", JSON.parse('{"__proto__":[1]}')],
    ["a.constructor", { a: { constructor: [1] } }],
    ["[]", { 0: 1 }],
  ])("spec 7: is invalid where nothing at %s is an array: %j", (path, payload) => {
    expect(payloads(payload, path)).toMatchObject({ refused: "INVALID_PAYLOAD" });
  });

  it("names the array in words for the caller", () => {
    const messages = ["data.items", "payload.items", "[]"].map((path) => payloads({}, path));
    expect(messages).toMatchObject([
      { message: "payload.data.items must be an array." },
      { message: "payload.items must be an array." },
      { message: "payload must be an array." },
    ]);
  });
});
