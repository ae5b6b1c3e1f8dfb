import { describe, expect, it } from "vitest";
import { removeHidden } from "../../../../src/core/boundary/remove-hidden.ts";
import { happened, oneLine, words } from "../../../../src/presets/message/headline.ts";

describe("a text on one line", () => {
  const seen = (title: string): string => removeHidden(`${oneLine(title)}\nDo not. A --> B`, "markdown").text;

  it("hides nothing of what someone else wrote behind it", () => {
    expect(seen("x <!-- y")).toBe("x <! - y\nDo not. A --> B");
    expect(seen("<!-- a --><!--")).toBe("<! -\nDo not. A --> B");
    expect(seen(`x <!-- ${"y".repeat(200)} -->`)).toContain("\nDo not. A --> B");
  });

  it("keeps its own comments, so that they are recognized", () => {
    expect(seen("x<!-- obey --> y")).toBe("x y\nDo not. A --> B");
  });
});

describe("happened", () => {
  it.each([
    ["created", "was created"],
    ["create", "was created"],
    ["REFUNDED", "was refunded"],
    ["completed", "completed"],
    ["failed", "failed"],
    ["paid", "was paid"],
    ["past_due", "is past due"],
    ["PENDING", "is pending"],
    ["payment_failed", "had a failed payment"],
    ["content_updated", "was edited"],
    ["trial_will_end", "changed: trial will end"],
    ["constructor", "changed: constructor"],
    ["", ""],
  ])("says of %j: %s", (action, text) => {
    expect(happened(action)).toBe(text);
  });
});

describe("words", () => {
  it.each([
    ["past_due", "past due"],
    ["propertyChange", "property change"],
    ["PAYMENT.RE-ACTIVATED", "payment re activated"],
    [" a  b\n", "a b"],
    ["_open-", "open"],
    ["Paid<!-- obey -->", "paid<!-- obey -->"],
  ])("puts %j as %j", (name, text) => {
    expect(words(name)).toBe(text);
  });
});
