import { describe, expect, it } from "vitest";
import { workos } from "../../../../src/presets/senders/workos.ts";
import { readSample } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";

describe("the preset workos", () => {
  itReadsSamples(workos, {
    "dsync.user.created": {
      event: "dsync.user.created",
      deliveryId: "event_01K18EXAMPLE",
      message: [
        "WorkOS: dsync user created: Ada Lovelace <ada@example.com>",
        "State: active",
        "Directory: directory_01EXAMPLE",
        "Organization: org_01EXAMPLE",
        "Id: directory_user_01EXAMPLE",
        "Event id: event_01K18EXAMPLE",
      ],
    },
    "dsync.group.user_added": {
      event: "dsync.group.user_added",
      deliveryId: "event_01K22EXAMPLE",
      message: [
        "WorkOS: dsync group user added: Ada Lovelace <ada@example.com>, Engineers",
        "User: directory_user_01EXAMPLE",
        "Group: directory_group_01EXAMPLE",
        "Directory: directory_01EXAMPLE",
        "Organization: org_01EXAMPLE",
        "Event id: event_01K22EXAMPLE",
      ],
    },
    "connection.activated": {
      event: "connection.activated",
      deliveryId: "event_01K20EXAMPLE",
      message: [
        "WorkOS: connection activated: Example Works",
        "State: active",
        "Kind: OktaSAML",
        "Organization: org_01EXAMPLE",
        "Id: conn_01EXAMPLE",
        "Event id: event_01K20EXAMPLE",
      ],
    },
    "authentication.password_failed": {
      event: "authentication.password_failed",
      deliveryId: "event_01K30EXAMPLE",
      message: [
        "WorkOS: authentication password failed: ada@example.com",
        "Reason: invalid_credentials, Invalid credentials",
        "State: failed",
        "Kind: password",
        "Address: 192.0.2.7",
        "User: user_01EXAMPLE",
        "Event id: event_01K30EXAMPLE",
      ],
    },
  });
});

describe("messages of WorkOS", () => {
  it("take the address of older directory users", () => {
    const payload = {
      event: "dsync.user.updated",
      data: { emails: [{ value: "ada@example.com" }], state: "inactive" },
    };
    expect(readSample(workos, { payload }).message).toBe(
      "WorkOS: dsync user updated: ada@example.com\nState: inactive",
    );
  });

  it("list data without a known key", () => {
    const payload = { event: "flag.updated", data: { slug: "beta" } };
    expect(readSample(workos, { payload }).message).toBe("WorkOS: flag updated\nslug: beta");
  });
});
