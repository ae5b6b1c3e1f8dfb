import { expect, it } from "vitest";
import {
  isRefusedForNow,
  isRefusedUpFront,
  isTransient,
  neverBegan,
  notSent,
} from "../../../../src/hosts/openclaw/error-classifier.ts";

/** An error of the host's gateway, as it was seen. */
function gatewayError(message: string, fields: object): Error {
  return Object.assign(new Error(message), { name: "GatewayClientRequestError", retryable: false, ...fields });
}

it.each([
  ["a code that passes, whatever the words", { gatewayCode: "UNAVAILABLE" }, "model override is not authorized", true],
  ["a code that stays, whatever the words", { gatewayCode: "INVALID_REQUEST" }, "queue is unavailable", false],
  ["a missing right", { gatewayCode: "FORBIDDEN" }, "not started", false],
  ["the host's own word", { gatewayCode: "INVALID_REQUEST", retryable: true }, "x", true],
  ["a call outside of the scope", { code: "OPENCLAW_SUBAGENT_RUNTIME_REQUEST_SCOPE" }, "x", true],
  ["an unknown code: the words", { gatewayCode: "NEWER" }, "the gateway is draining", true],
  ["an unknown code and unknown words", { code: "ENEW" }, "x", false],
])("a run that did not begin is tried again by the host's code: %s", (_name, fields, message, retryable) => {
  expect(neverBegan(gatewayError(message, fields)).retryable).toBe(retryable);
});

it("a call that the host refuses for what it asks has begun nothing", () => {
  expect(isRefusedUpFront(gatewayError("x", { gatewayCode: "INVALID_REQUEST" }))).toBe(true);
  expect(isRefusedUpFront(gatewayError("x", { gatewayCode: "UNAVAILABLE" }))).toBe(false);
});

it.each([
  [{ error_code: 429 }, "the recipient is unknown", true],
  [{ status: 503 }, "not found", true],
  [{ statusCode: 403 }, "temporarily", false],
  [{}, "403: bot was blocked", false],
  [{}, "network", true],
])("a message is sent again by the status of the channel: %j", (fields, message, retryable) => {
  expect(notSent("telegram", Object.assign(new Error(message), fields)).retryable).toBe(retryable);
});

it.each([
  'Plugin "reveille" runtime is no longer active.',
  "Plugin reveille was reloaded or disabled; use its current tools.",
  "Plugin reveille replacement is in progress",
  "Plugin reveille is retiring",
  "Plugin reveille consumer is closed",
  "Prepared plugin generation has retired",
  "Cannot prepare a retired plugin registry",
])("a run that fails because the host reloads the plugin may be tried again: %s", (words) => {
  const error = new Error(words);
  expect([isRefusedForNow(error), isTransient(words), neverBegan(error).retryable]).toEqual([true, true, true]);
});

it("what the host refuses of an instance that it replaces has begun nothing", () => {
  expect(isRefusedUpFront(new Error('Plugin "reveille" runtime is no longer active.'))).toBe(true);
  expect(isRefusedUpFront(new Error("Plugin reveille was reloaded or disabled; use its current tools."))).toBe(false);
});
