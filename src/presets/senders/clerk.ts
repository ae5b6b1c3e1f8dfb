import { definePreset } from "../define-preset.ts";
import { joinText, labeled, listAt, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import { dataLines } from "../message/data-lines.ts";
import { headline, lineAt, spoken, titled } from "../message/headline.ts";
import { personText } from "../message/value-text.ts";
import { whsecSender } from "./standard-webhooks/whsec-sender.ts";

const TIME = 1_763_640_000_000;

function event(type: string, data: object) {
  return { payload: { type, object: "event", timestamp: TIME, instance_id: "ins_2example", data } };
}

/** Events of users, organizations and sessions of Clerk, delivered by Svix. */
export const clerk = definePreset({
  name: "clerk",
  title: "Clerk",
  documentation: "https://clerk.com/docs/guides/development/webhooks/overview",
  ...whsecSender("svix", "Signing Secret"),
  event: "body:type",
  mapping: { name: "Clerk" },
  message({ payload }) {
    const type = lineAt(payload, "type");
    const data = valueAt(payload, "data");
    return messageOf(titled(`Clerk: ${spoken(type) || "new event"}`, subjectOf(type, data)), detailsOf(type, data));
  },
  success: {
    statuses: "2xx",
    otherwise: "tries again for about a day (Svix), then disables the endpoint after 5 days of failures",
  },
  ignored: "nothing. Clerk marks no bots",
  samples: {
    "user.created": event("user.created", {
      object: "user",
      id: "user_2example1",
      first_name: "Ada",
      last_name: "Lovelace",
      username: null,
      primary_email_address_id: "idn_2",
      email_addresses: [
        { id: "idn_1", email_address: "old@example.com" },
        { id: "idn_2", email_address: "ada@example.com" },
      ],
      created_at: TIME,
    }),
    "user.deleted": event("user.deleted", { object: "user", id: "user_2example1", deleted: true }),
    "organizationMembership.created": event("organizationMembership.created", {
      object: "organization_membership",
      id: "orgmem_2example",
      role: "org:member",
      organization: { id: "org_2example", name: "Example Works", slug: "example-works" },
      public_user_data: {
        user_id: "user_2example1",
        identifier: "ada@example.com",
        first_name: "Ada",
        last_name: "Lovelace",
      },
    }),
    "session.created": event("session.created", {
      object: "session",
      id: "sess_2example",
      status: "active",
      user_id: "user_2example1",
      client_id: "client_2example",
    }),
    "waitlistEntry.created": event("waitlistEntry.created", {
      object: "waitlist_entry",
      id: "wle_2example",
      email_address: "grace@example.com",
      status: "pending",
    }),
  },
  setup: [
    "Open the Clerk Dashboard: Configure > Developers > Webhooks > Add Endpoint, paste {url} and choose the events.",
    "Copy the endpoint's {secret} (whsec_...) and set it as hooks.clerk.secret.",
  ],
});

/** Whom or what the event is about. */
function subjectOf(type: string, data: unknown): string {
  if (type.startsWith("user.")) return personText(nameIn(data, ""), primaryAddress(data)) || lineAt(data, "username");
  if (type.startsWith("organizationMembership.")) {
    const person = personText(nameIn(data, "public_user_data."), lineAt(data, "public_user_data.identifier"));
    return joinText(" in ", person, lineAt(data, "organization.name"));
  }
  return lineAt(data, "name", "email_address", "to_email_address", "user_id");
}

function detailsOf(type: string, data: unknown): readonly string[] {
  if (type.startsWith("user.") || type.startsWith("organizationMembership.")) {
    return [
      labeled("Role", textAt(data, "role")),
      labeled(
        "User id",
        textAt(data, "public_user_data.user_id") || (type.startsWith("user.") ? textAt(data, "id") : ""),
      ),
      labeled("Organization id", textAt(data, "organization.id")),
    ];
  }
  // Mails and texts that Clerk hands over to be sent hold codes that let anyone who reads them sign in.
  if (type.startsWith("email.") || type.startsWith("sms.")) {
    return [
      labeled("Kind", textAt(data, "slug")),
      labeled("Status", textAt(data, "status")),
      labeled("Id", textAt(data, "id")),
    ];
  }
  return dataLines(data);
}

function nameIn(data: unknown, prefix: string): string {
  return headline(lineAt(data, `${prefix}first_name`), lineAt(data, `${prefix}last_name`));
}

function primaryAddress(data: unknown): string {
  const primary = textAt(data, "primary_email_address_id");
  const addresses = listAt(data, "email_addresses");
  const chosen = addresses.find((address) => primary !== "" && textAt(address, "id") === primary) ?? addresses[0];
  return lineAt(chosen, "email_address");
}
