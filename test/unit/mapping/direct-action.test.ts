import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isRefusal } from "../../../src/core/errors.ts";
import { readAgentPayload, readWait, readWakePayload } from "../../../src/mapping/direct-action.ts";

const invalid = (message: string): object => ({ refused: "INVALID_PAYLOAD", message, retryAfterSeconds: undefined });

describe("the payload of /hooks/wake", () => {
  it("spec 2.2: text is required and mode is now by default", () => {
    expect(readWakePayload({ text: "New mail" })).toEqual({ kind: "wake", text: "New mail", mode: "now" });
  });

  it.each(["now", "next-heartbeat"] as const)("spec 2.2: mode may be %s", (mode) => {
    expect(readWakePayload({ text: "New mail", mode })).toEqual({ kind: "wake", text: "New mail", mode });
  });

  it("trims the text, and takes null for an absent mode", () => {
    expect(readWakePayload({ text: "\n New mail ", mode: null })).toMatchObject({ text: "New mail", mode: "now" });
  });

  it.each<[string, object]>([
    ["missing", {}],
    ["null", { text: null }],
    ["a number", { text: 7 }],
    ["a list", { text: ["a"] }],
    ["empty", { text: "" }],
    ["blank", { text: " \t\n" }],
    ["inherited", Object.create({ text: "a" }) as object],
  ])("spec 7: is invalid with a text that is %s", (_case, payload) => {
    expect(readWakePayload(payload)).toEqual(invalid("text required: a string that is not blank."));
  });

  it.each(["later", "NOW", "", true, 1, {}])("spec 7: is invalid with the mode %j", (mode) => {
    expect(readWakePayload({ text: "a", mode })).toEqual(invalid("mode must be one of now, next-heartbeat."));
  });

  it("leaves fields alone that it does not name", () => {
    const payload = { text: "a", to: 7, allowUnsafeExternalContent: true };
    expect(readWakePayload(payload)).toEqual({ kind: "wake", text: "a", mode: "now" });
  });

  it("names an agent and a session, as the caller's", () => {
    expect(readWakePayload({ text: "a", agentId: " ops ", sessionKey: "hook:x" })).toEqual({
      kind: "wake",
      text: "a",
      mode: "now",
      agentId: "ops",
      sessionKey: "hook:x",
      sessionKeySource: "request",
    });
    expect(readWakePayload({ text: "a", agentId: 7 })).toEqual(invalid("agentId must be a string."));
    expect(readWakePayload({ text: "a", sessionKey: {} })).toEqual(invalid("sessionKey must be a string."));
  });
});

describe("the payload of /hooks/agent", () => {
  it("spec 2.3: message is required, wakeMode is now, deliver true and channel last by default", () => {
    expect(readAgentPayload({ message: "Summarize the inbox" })).toEqual({
      kind: "agent",
      message: "Summarize the inbox",
      name: undefined,
      agentId: undefined,
      sessionKey: undefined,
      sessionKeySource: "static",
      wakeMode: "now",
      deliver: true,
      channel: "last",
      to: undefined,
      model: undefined,
      thinking: undefined,
      timeoutSeconds: undefined,
    });
  });

  it("spec 2.3: reads every field", () => {
    const payload = {
      message: "m",
      name: "CI",
      agentId: "ops",
      sessionKey: "hook:ci",
      wakeMode: "next-heartbeat",
      deliver: false,
      channel: "telegram",
      to: "+491701234567",
      model: "openai/gpt-5",
      thinking: "high",
      timeoutSeconds: 90,
      callbackUrl: "https://ci.example.com/done",
    };
    expect(readAgentPayload(payload)).toEqual({ kind: "agent", ...payload, sessionKeySource: "request" });
  });

  it.each<[string, unknown]>([
    ["missing", undefined],
    ["null", null],
    ["empty", ""],
    ["blank", "\n \t"],
    ["a number", 1],
    ["an object", { text: "a" }],
  ])("spec 7: is invalid with a message that is %s", (_case, message) => {
    expect(readAgentPayload({ message })).toEqual(invalid("message required: a string that is not blank."));
  });

  const texts = ["name", "agentId", "sessionKey", "channel", "to", "thinking", "model", "callbackUrl"] as const;
  const chosen: readonly string[] = ["model", "callbackUrl"];

  it.each(texts)("trims %s, and takes null for an absent one", (field) => {
    expect(readAgentPayload({ message: "m", [field]: "  x y " })).toMatchObject({ [field]: "x y" });
    expect(readAgentPayload({ message: "m", [field]: null })).toEqual(readAgentPayload({ message: "m" }));
  });

  it.each(texts.filter((field) => !chosen.includes(field)))("takes a blank %s for an absent one", (field) => {
    expect(readAgentPayload({ message: "m", [field]: " \t" })).toEqual(readAgentPayload({ message: "m" }));
  });

  it.each(["model", "callbackUrl"])("refuses a blank %s: it has to choose something", (field) => {
    const refusal = invalid(`${field} must not be blank; leave it out for the default.`);
    expect(readAgentPayload({ message: "m", [field]: "" })).toEqual(refusal);
    expect(readAgentPayload({ message: "m", [field]: "  " })).toEqual(refusal);
  });

  it("takes the mode deliver, and null or nothing for a run", () => {
    expect(readAgentPayload({ message: "m", mode: "deliver" })).toMatchObject({ mode: "deliver", deliver: true });
    expect(readAgentPayload({ message: "m" })).toMatchObject({ mode: undefined });
    for (const mode of [null, "now", "next-heartbeat"]) {
      expect(readAgentPayload({ message: "m", mode })).toMatchObject({ mode: undefined });
    }
  });

  it.each(["run", "Deliver", "", true])("is invalid with the mode %j", (mode) => {
    expect(readAgentPayload({ message: "m", mode })).toEqual(invalid("mode must be deliver, or be left out."));
  });

  it("is invalid with the mode deliver when nothing is to be delivered", () => {
    const refusal = invalid("mode deliver needs deliver to be true.");
    expect(readAgentPayload({ message: "m", mode: "deliver", deliver: false })).toEqual(refusal);
  });

  it.each(texts.flatMap((field) => [1, true, ["x"], { x: 1 }].map((value) => [field, value] as const)))(
    "spec 7: is invalid with a %s of a wrong type: %j",
    (field, value) => {
      expect(readAgentPayload({ message: "m", [field]: value })).toEqual(invalid(`${field} must be a string.`));
    },
  );

  it.each(["false", 0, 1, "", {}])("spec 7: is invalid with deliver %j, which could mean either", (deliver) => {
    expect(readAgentPayload({ message: "m", deliver })).toEqual(invalid("deliver must be true or false."));
  });

  it("takes deliver null for an absent one", () => {
    expect(readAgentPayload({ message: "m", deliver: null })).toMatchObject({ deliver: true });
  });

  it.each(["later", "", "Next-Heartbeat", false, 0])("spec 7: is invalid with the wakeMode %j", (wakeMode) => {
    const refusal = invalid("wakeMode must be one of now, next-heartbeat.");
    expect(readAgentPayload({ message: "m", wakeMode })).toEqual(refusal);
  });

  it.each([0.5, 1, 30, 86_400])("spec 2.3: timeoutSeconds may be %d", (timeoutSeconds) => {
    expect(readAgentPayload({ message: "m", timeoutSeconds })).toMatchObject({ timeoutSeconds });
  });

  it("takes timeoutSeconds null for an absent one", () => {
    expect(readAgentPayload({ message: "m", timeoutSeconds: null })).toMatchObject({ timeoutSeconds: undefined });
  });

  it.each([0, -1, 86_401, Infinity, NaN, "30", true, [30]])(
    "spec 7: is invalid with timeoutSeconds %j",
    (timeoutSeconds) => {
      const refusal = invalid("timeoutSeconds must be a number of seconds above 0 and at most 86400.");
      expect(readAgentPayload({ message: "m", timeoutSeconds })).toEqual(refusal);
    },
  );

  it("leaves fields alone that it does not name: a caller cannot turn the boundary off or declare its own key trusted", () => {
    const payload = { message: "m", allowUnsafeExternalContent: true, sessionKeySource: "static", sessionKey: "k" };
    const action = readAgentPayload(payload);
    expect(action).toMatchObject({ sessionKey: "k", sessionKeySource: "request" });
    expect(action).not.toHaveProperty("allowUnsafeExternalContent");
  });

  it("reads own fields only", () => {
    const payload = Object.assign(Object.create({ agentId: "ops", deliver: false }) as object, { message: "m" });
    expect(readAgentPayload(payload)).toMatchObject({ agentId: undefined, deliver: true });
  });
});

describe.each([
  ["wake", readWakePayload],
  ["agent", readAgentPayload],
])("any payload of /hooks/%s", (_route, read) => {
  it.each([[[]], [null], ["text"], [7], [undefined], [true]])(
    "spec 7: is invalid when it is no object: %j",
    (payload) => {
      expect(read(payload)).toEqual(invalid("The payload must be a JSON object."));
    },
  );

  it("becomes an action or a refusal with a sentence, and never an exception", () => {
    const names = ["text", "mode", "message", "name", "sessionKey", "deliver", "timeoutSeconds", "wakeMode", "to"];
    const field = fc.oneof(fc.constantFrom(...names), fc.string());
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fc.dictionary(field, fc.jsonValue())), (payload) => {
        const action = read(payload);
        if (isRefusal(action)) expect(action.message).toMatch(/^[^{}]+\.$/);
        else expect(action.kind === "wake" ? action.text : action.message).toMatch(/\S/);
      }),
    );
  });

  it("passes on what is no fault of the payload", () => {
    const broken = { text: "t", message: "m" };
    const failure = new Error("a defect");
    Object.defineProperty(broken, "mode", {
      get() {
        throw failure;
      },
    });
    Object.defineProperty(broken, "wakeMode", Object.getOwnPropertyDescriptor(broken, "mode")!);
    expect(() => read(broken)).toThrow(failure);
  });
});

describe("whether a caller of /agent waits for the result", () => {
  it("follows wait, and its length waitSeconds", () => {
    expect(readWait({ wait: true })).toEqual({ waitMs: undefined });
    expect(readWait({ waitForCompletion: true })).toEqual({ waitMs: undefined });
    expect(readWait({ waitForCompletion: true, wait: false })).toBeUndefined();
    expect(readWait({ wait: true, waitSeconds: 1.5 })).toEqual({ waitMs: 1_500 });
    expect(readWait({ wait: true, waitSeconds: 300 })).toEqual({ waitMs: 300_000 });
    expect(readWait({ wait: true, waitSeconds: null })).toEqual({ waitMs: undefined });
  });

  it.each([{}, { wait: false }, { wait: null }, { waitSeconds: 5 }, { message: "m" }])(
    "is not asked by %j",
    (payload) => {
      expect(readWait(payload)).toBeUndefined();
    },
  );

  it.each([
    [{ wait: "true" }, "wait must be true or false."],
    [{ wait: 1 }, "wait must be true or false."],
    [{ wait: true, waitSeconds: 0 }, "waitSeconds must be a number of seconds above 0 and at most 300."],
    [{ wait: true, waitSeconds: 301 }, "waitSeconds must be a number of seconds above 0 and at most 300."],
    [{ waitSeconds: "5" }, "waitSeconds must be a number of seconds above 0 and at most 300."],
    [[], "The payload must be a JSON object."],
  ])("is invalid in %j", (payload, message) => {
    expect(readWait(payload)).toEqual(invalid(message));
  });

  it("is read from the payload's own fields alone", () => {
    expect(readWait(Object.create({ wait: true }))).toBeUndefined();
  });
});
