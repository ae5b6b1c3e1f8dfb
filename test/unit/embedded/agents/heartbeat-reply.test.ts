import { describe, expect, it } from "vitest";
import { isWorthSending } from "../../../../src/embedded/agents/heartbeat-reply.ts";

describe("isWorthSending", () => {
  it.each([
    "",
    " \n ",
    "NO_REPLY",
    " **NO_REPLY**. ",
    "HEARTBEAT_OK",
    "HEARTBEAT_OK.",
    "HEARTBEAT_OK!!!!",
    "**HEARTBEAT_OK**",
    "`HEARTBEAT_OK`",
    "<b>HEARTBEAT_OK</b>",
    "> HEARTBEAT_OK",
    "HEARTBEAT_OK All is quiet.",
    "All is quiet. HEARTBEAT_OK",
    `HEARTBEAT_OK ${"x".repeat(299)}`,
  ])("spec 2.3: a reply that is only a heartbeat acknowledgment or nothing is skipped: %j", (reply) => {
    expect(isWorthSending(reply)).toBe(false);
  });

  it.each([
    "The build is red.",
    "I was told to say HEARTBEAT_OK when all is well, but the build is red.",
    `HEARTBEAT_OK ${"x".repeat(300)}`,
    "NO_REPLY needed, but the build is red.",
    "heartbeat_ok",
  ])("a reply that says something is sent: %j", (reply) => {
    expect(isWorthSending(reply)).toBe(true);
  });
});
