import { describe, expect, it } from "vitest";
import { clerk } from "../../../../src/presets/senders/clerk.ts";
import { readSample } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";

const messageOf = (type: string, data: unknown) => readSample(clerk, { payload: { type, data } }).message;

describe("the preset clerk", () => {
  itReadsSamples(clerk, {
    "user.created": {
      event: "user.created",
      message: ["Clerk: user created: Ada Lovelace <ada@example.com>", "User id: user_2example1"],
    },
    "user.deleted": {
      event: "user.deleted",
      message: ["Clerk: user deleted", "User id: user_2example1"],
    },
    "organizationMembership.created": {
      event: "organizationMembership.created",
      message: [
        "Clerk: organizationMembership created: Ada Lovelace <ada@example.com> in Example Works",
        "Role: org:member",
        "User id: user_2example1",
        "Organization id: org_2example",
      ],
    },
    "session.created": {
      event: "session.created",
      message: [
        "Clerk: session created: user_2example1",
        "object: session",
        "id: sess_2example",
        "status: active",
        "user_id: user_2example1",
        "client_id: client_2example",
      ],
    },
    "waitlistEntry.created": {
      event: "waitlistEntry.created",
      message: [
        "Clerk: waitlistEntry created: grace@example.com",
        "object: waitlist_entry",
        "id: wle_2example",
        "email_address: grace@example.com",
        "status: pending",
      ],
    },
  });
});

describe("messages of Clerk", () => {
  it("name a user by whatever there is", () => {
    expect(messageOf("user.updated", { username: "ada" })).toBe("Clerk: user updated: ada");
    expect(messageOf("user.updated", { first_name: "Ada" })).toBe("Clerk: user updated: Ada");
    expect(messageOf("user.updated", { email_addresses: [{ email_address: "a@example.com" }] })).toBe(
      "Clerk: user updated: a@example.com",
    );
    expect(messageOf("user.updated", {})).toBe("Clerk: user updated");
  });

  it("never show the code in a mail or a text that Clerk hands over", () => {
    const data = {
      id: "ema_1",
      slug: "verification_code",
      to_email_address: "ada@example.com",
      subject: "123456 is your code",
      body: "<b>123456</b>",
      body_plain: "123456",
      data: { otp_code: "123456" },
    };
    expect(messageOf("email.created", data)).toBe(
      "Clerk: email created: ada@example.com\nKind: verification_code\nId: ema_1",
    );
    expect(messageOf("sms.created", { message: "123456", slug: "verification_code" })).toBe(
      "Clerk: sms created\nKind: verification_code",
    );
  });
});
