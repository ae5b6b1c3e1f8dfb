import { describe, expect, it } from "vitest";
import { pipedrive } from "../../../../src/presets/senders/pipedrive.ts";
import { verifyCall } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { sampleCall } from "../sample-call.ts";

const SECRET = "reveille:an-invented-password-of-acme";

describe("the preset pipedrive", () => {
  itReadsSamples(pipedrive, {
    "deal.change": {
      event: "deal.change",
      deliveryId: "0f9d3c2a-0000-4000-8000-000000000001",
      sender: {
        name: "user 12345678",
        id: "12345678",
        bot: false,
      },
      message: [
        "Pipedrive deal changed by user 12345678: Fifty licenses",
        "Changed stage id: 2, now 3",
        "Changed value: 9000, now 12000",
        "Link: https://acme.pipedrive.com/deal/42",
        "Through: app",
        "Ids: deal 42, company 7531000",
      ],
    },
    "deal.create": {
      event: "deal.create",
      deliveryId: "0f9d3c2a-0000-4000-8000-000000000002",
      sender: {
        name: "user 12345678",
        id: "12345678",
        bot: false,
      },
      message: [
        "Pipedrive deal created by user 12345678: Fifty licenses",
        "value: 12000",
        "currency: EUR",
        "status: open",
        "stage_id: 3",
        "person_id: 7",
        "org_id: 9",
        "owner_id: 12345678",
        "update_time: 2026-11-20T11:59:58Z",
        "Link: https://acme.pipedrive.com/deal/42",
        "Through: app",
        "Ids: deal 42, company 7531000",
      ],
    },
    "person.delete": {
      event: "person.delete",
      deliveryId: "0f9d3c2a-0000-4000-8000-000000000003",
      sender: {
        name: "user 12345678",
        id: "12345678",
        bot: false,
      },
      message: [
        "Pipedrive person deleted by user 12345678: Ada Byron",
        "Through: app",
        "Ids: person 7, company 7531000",
      ],
    },
  });

  it("takes the user name and password of the configuration, and no other", async () => {
    const basic = (text: string): string => `Basic ${Buffer.from(text).toString("base64")}`;
    const call = sampleCall(pipedrive, "deal.change", () => ({ authorization: basic(SECRET) }));
    const verify = (authorization: string | undefined) =>
      verifyCall(pipedrive, { ...call, headers: { ...call.headers, authorization } }, { secrets: [SECRET] });
    expect((await verify(basic(SECRET))).ok).toBe(true);
    for (const other of [basic("reveille:another"), basic("other:an-invented-password-of-acme"), undefined]) {
      expect((await verify(other)).ok).toBe(false);
    }
  });
});
