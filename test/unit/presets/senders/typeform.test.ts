import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { valueAt } from "../../../../src/core/payload-text.ts";
import { typeform } from "../../../../src/presets/senders/typeform.ts";
import { receivedCall, readSample, signSample, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { itNamesItsSamples } from "../it-names-its-samples.ts";

const SECRET = "a-secret-of-typeform-0123456789";
const read = (answer: unknown) =>
  readSample(typeform, { payload: { event_type: "form_response", form_response: { answers: [answer] } } }).message;

describe("typeform", () => {
  itNamesItsSamples(typeform, ({ payload }) => valueAt(payload, "event_id"));

  it("puts each answer behind its question", () => {
    expect(readSample(typeform, typeform.samples["form_response"]!).message).toBe(
      [
        "New answer to a form from ada@example.com: After the workshop",
        "What is your name?: Ada Byron",
        "Where can we reach you?: ada@example.com",
        "Which parts did you like?: Talks, Tea, The garden",
        "Would you come again?: yes",
        "How was it?: 5",
        "Score: 9",
        "customer: 1001",
        "Submitted: 2026-11-20 11:59 UTC",
        "Form: lT4Z3j",
        "Response: a3a12ec67a1365927098a606107fac15",
        "Event: 01SAMPLEFORMRESPONSE",
      ].join("\n"),
    );
  });

  it("says of an unfinished answer that it is one", () => {
    expect(readSample(typeform, typeform.samples["form_response_partial"]!).message).toMatch(
      /^Unfinished answer to a form: After the workshop\n/,
    );
  });

  it.each([
    [{ type: "boolean", boolean: false }, "Answer: no"],
    [{ type: "choice", choice: { label: "Tea" } }, "Answer: Tea"],
    [{ type: "choice", choice: { other: "Water" } }, "Answer: Water"],
    [{ type: "phone_number", phone_number: "+390000000" }, "Answer: +390000000"],
    [{ type: "date", date: "2026-11-20" }, "Answer: 2026-11-20"],
    [{ type: "file_url", file_url: "https://files.example.com/a.pdf" }, "Answer: https://files.example.com/a.pdf"],
    [{ type: "payment", payment: { amount: "12.00", currency: "EUR", success: true } }, "Answer: 12.00 EUR"],
    [{ type: "text", text: "Hello", field: { ref: "greeting" } }, "greeting: Hello"],
  ])("writes the answer %j as %s", (answer, line) => {
    expect(read(answer)).toBe(`New answer to a form\n${line}`);
  });

  it("leaves out an answer that says nothing", () => {
    expect(read({ type: "text", text: " " })).toBe("New answer to a form");
  });

  it("lists the fields of what it has no words for", () => {
    expect(readSample(typeform, { payload: { event_type: "other", data: "x" } }).message).toBe(
      "Typeform event other\nevent_type: other\ndata: x",
    );
  });

  it("verifies base64 behind the prefix that elsewhere stands before hex", async () => {
    const signed = signSample(typeform, typeform.samples["form_response"]!, { secrets: [SECRET], key: SECRET });
    const signature = `sha256=${createHmac("sha256", SECRET).update(signed.body).digest("base64")}`;
    expect(signed.headers["typeform-signature"]).toBe(signature);
    expect((await verifyCall(typeform, receivedCall(signed), { secrets: [SECRET] })).ok).toBe(true);
    const hex = `sha256=${createHmac("sha256", SECRET).update(signed.body).digest("hex")}`;
    const wrong = { ...signed, headers: { ...signed.headers, "typeform-signature": hex } };
    expect((await verifyCall(typeform, receivedCall(wrong), { secrets: [SECRET] })).ok).toBe(false);
  });
});
