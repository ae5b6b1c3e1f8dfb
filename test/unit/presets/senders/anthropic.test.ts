import { describe, expect, it } from "vitest";
import { anthropic } from "../../../../src/presets/senders/anthropic.ts";
import { readSample } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";

const SESSION = "sesn_011CZkZAtmR3yMPDzynEDxu7";
const MORE = ["Workspace: wrkspc_011CZkZDtmR3yMPDzynEDxu7", "At: 2026-11-20 11:59 UTC"];
const READ = `Its content is not in the webhook: GET https://api.anthropic.com/v1/sessions/${SESSION}`;

describe("the preset anthropic", () => {
  itReadsSamples(anthropic, {
    "session.status_idled": {
      event: "session.status_idled",
      deliveryId: "event_011CZkZEtmR3yMPDzynEDxu7",
      message: ["Claude: session status idled", `Id: ${SESSION}`, ...MORE, READ],
    },
    "session.thread_idled": {
      event: "session.thread_idled",
      deliveryId: "event_011CZkZFtmR3yMPDzynEDxu7",
      message: [
        "Claude: session thread idled",
        `Id: ${SESSION}`,
        "Thread: sthr_011CZkZBtmR3yMPDzynEDxu7",
        ...MORE,
        READ,
      ],
    },
    "vault_credential.refresh_failed": {
      event: "vault_credential.refresh_failed",
      deliveryId: "event_011CZkZGtmR3yMPDzynEDxu7",
      message: ["Claude: vault credential refresh failed", "Id: vcrd_011CZkZCtmR3yMPDzynEDxu7", ...MORE],
    },
  });

  it("shows what else a later event may hold", () => {
    const data = { type: "x.y", id: "x_1", organization_id: "o", reason: "later" };
    expect(readSample(anthropic, { payload: { type: "event", data } }).message).toBe(
      "Claude: x y\nId: x_1\nreason: later",
    );
  });
});
