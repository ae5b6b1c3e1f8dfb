import { describe, expect, it } from "vitest";
import { mappingOf, requestWith } from "./mappings.ts";

const facts = { deliveryId: "dlv_1", runId: "run_1" };

function bodyOf(
  body: string,
  payload: unknown,
  known: { deliveryId: string; runId: string | undefined } = facts,
): unknown {
  return mappingOf({ messageTemplate: "m", respond: { body } }).responseBody?.renderResponse(
    requestWith(payload),
    known,
  );
}

describe("the body of a mapping's answer", () => {
  it("is a template that knows the delivery and its run", () => {
    expect(bodyOf('{"id":"{{deliveryId}}","run":"{{runId}}","for":"{{payload.a}}"}', { a: 5 })).toBe(
      '{"id":"dlv_1","run":"run_1","for":"5"}',
    );
    expect(bodyOf("[{{runId}}]", {}, { deliveryId: "dlv_1", runId: undefined })).toBe("[]");
  });

  it("takes the delivery's own id and not a payload's key of that name", () => {
    expect(bodyOf("{{deliveryId}} {{payload.deliveryId}}", { deliveryId: "mine" })).toBe("dlv_1 mine");
  });

  it("is rendered in one pass", () => {
    expect(bodyOf("{{a}}", { a: "{{deliveryId}}" })).toBe("{{deliveryId}}");
  });

  it("is none where the mapping says nothing of it", () => {
    expect(mappingOf({ messageTemplate: "m" }).responseBody).toBeUndefined();
    expect(mappingOf({ messageTemplate: "m", respond: "result" }).responseBody).toBeUndefined();
    expect(mappingOf({ messageTemplate: "m", respond: { status: 202 } }).responseBody).toBeUndefined();
  });

  it("leaves other templates without those names", () => {
    const { content } = mappingOf({ messageTemplate: "{{deliveryId}}" });
    expect(content.render(requestWith({}))).toBe("");
  });
});

describe("the key of coalescing", () => {
  it("is a template, empty when there is none written, and absent without coalesce", () => {
    const key = (coalesce?: { key?: string; windowSeconds: number }): unknown =>
      mappingOf({ messageTemplate: "m", ...(coalesce && { coalesce }) }).coalesceKey?.render(requestWith({ id: 7 }));
    expect(key({ key: "{{id}}", windowSeconds: 1 })).toBe("7");
    expect(key({ windowSeconds: 1 })).toBe("");
    expect(key()).toBeUndefined();
  });
});
