import { describe, expect, it } from "vitest";
import { happened, words } from "../../../../src/presets/message/headline.ts";

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
