import { describe, expect, it } from "vitest";
import { cursor } from "../../../../src/presets/senders/cursor.ts";
import { readSample } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { itTakesTheHmac } from "../it-takes-the-hmac.ts";

describe("the preset cursor", () => {
  itTakesTheHmac(cursor, "statusChange.FINISHED", "x-webhook-signature", (mac) => `sha256=${mac.digest("hex")}`);
  itReadsSamples(cursor, {
    "statusChange.FINISHED": {
      event: "statusChange.FINISHED",
      deliveryId: "msg_01J9XK3V7M2N",
      message: [
        "Cursor: the agent has finished: Add README documentation",
        "Added README.md with installation instructions",
        "Repository: https://github.com/acme/app main",
        "Branch: cursor/add-readme-1234",
        "Pull request: https://github.com/acme/app/pull/1234",
        "Agent: bc_abc123 https://cursor.com/agents?id=bc_abc123",
      ],
    },
    "statusChange.ERROR": {
      event: "statusChange.ERROR",
      deliveryId: "msg_01J9XK3V7M2P",
      message: [
        "Cursor: the agent failed",
        "Repository: https://github.com/acme/app main",
        "Branch: cursor/fix-login-5678",
        "Agent: bc_def456 https://cursor.com/agents?id=bc_def456",
      ],
    },
  });

  it("says another state as it is", () => {
    expect(readSample(cursor, { payload: { status: "EXPIRED" } }).message).toBe("Cursor: the agent is expired");
    expect(readSample(cursor, { payload: {} }).message).toBe("Cursor: the agent has another state");
  });
});
