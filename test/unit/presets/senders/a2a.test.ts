import { describe, expect, it } from "vitest";
import { a2a } from "../../../../src/presets/senders/a2a.ts";
import { readSample, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { sampleCall } from "../sample-call.ts";

const TASK = "43667960-d455-4453-b0cf-1bae4955270d";
const IDS = [`Task: ${TASK}`, "Context: c295ea44-7543-4f78-b524-7a38915ad6e4"];

describe("the preset a2a", () => {
  itReadsSamples(a2a, {
    completed: {
      event: "completed",
      deliveryId: expect.stringMatching(new RegExp(`^${TASK}/completed/2026-11-20T11:59:58.123Z/sha256-[0-9a-f]{64}$`)),
      message: ["A2A: the task is completed", "The report is ready.", ...IDS, "At: 2026-11-20T11:59:58.123Z"],
    },
    artifact: {
      event: "artifact",
      message: ["A2A: a task sent an artifact", "Artifact: report", "Revenue grew.", "growth: 4", ...IDS],
    },
    version_0_3: {
      event: "input-required",
      deliveryId: expect.stringMatching(
        new RegExp(`^${TASK}/input-required/2026-11-20T11:59:59.123Z/sha256-[0-9a-f]{64}$`),
      ),
      message: ["A2A: the task is input required", "Which quarter?", ...IDS, "At: 2026-11-20T11:59:59.123Z"],
    },
  });

  it("reads a message that has no state, and names its files", () => {
    const message = { messageId: "m1", taskId: "t1", parts: [{ url: "https://files.example.com/a.pdf" }, {}] };
    expect(readSample(a2a, { payload: { message } })).toMatchObject({
      event: "message",
      deliveryId: undefined,
      message: "A2A: a task sent a message\nFile: https://files.example.com/a.pdf\nTask: t1",
    });
  });

  // Version 0.3 posts the whole task after each artifact; its state keeps its time.
  it("has another id for a task that has a further artifact in the same state", () => {
    const task = { id: TASK, kind: "task", status: { state: "working", timestamp: "2026-11-20T11:59:59.123Z" } };
    const idOf = (payload: object) => readSample(a2a, { payload }).deliveryId;
    const artifacts = [{ artifactId: "1", parts: [{ kind: "text", text: "Half of it" }] }];
    expect(idOf({ ...task, artifacts })).not.toBe(idOf(task));
    expect(idOf({ ...task, artifacts })).toBe(idOf({ ...task, artifacts }));
  });

  it("takes the token that the config was made with", async () => {
    const verify = async (headers: Record<string, string>) =>
      (
        await verifyCall(
          a2a,
          sampleCall(a2a, "completed", () => headers),
          { secrets: ["a-token-of-the-tests"] },
        )
      ).ok;
    expect(await verify({ "x-a2a-notification-token": "a-token-of-the-tests" })).toBe(true);
    // As a2a-go writes it.
    expect(await verify({ "a2a-notification-token": "a-token-of-the-tests" })).toBe(true);
    expect(await verify({ "x-a2a-notification-token": "a-token-of-others" })).toBe(false);
    expect(await verify({ "a2a-notification-token": "a-token-of-others" })).toBe(false);
    expect(await verify({})).toBe(false);
  });
});
