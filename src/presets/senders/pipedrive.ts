import { labeled, messageOf, valueAt } from "../../core/payload-text.ts";
import { definePreset } from "../define-preset.ts";
import { eventActor } from "../event-fields.ts";
import { changeLines } from "../message/change-lines.ts";
import { dataLines, withoutKeys } from "../message/data-lines.ts";
import { headline, idLine, lineAt, phrase, titled } from "../message/headline.ts";
import type { PresetContext, PresetEvent } from "../preset.ts";

const meta = {
  company_id: "7531000",
  correlation_id: "5c1c8b7e-0000-4000-8000-000000000001",
  entity_id: "42",
  entity: "deal",
  is_bulk_edit: false,
  timestamp: "2026-11-20T11:59:58.123Z",
  type: "general",
  user_id: "12345678",
  version: "2.0",
  webhook_id: "97531",
  webhook_owner_id: "12345678",
  change_source: "app",
  permitted_user_ids: ["12345678"],
  attempt: 1,
  host: "acme.pipedrive.com",
};

const deal = {
  id: 42,
  title: "Fifty licenses",
  value: 12000,
  currency: "EUR",
  status: "open",
  stage_id: 3,
  person_id: 7,
  org_id: 9,
  owner_id: 12345678,
  update_time: "2026-11-20T11:59:58Z",
};

/** Webhooks of Pipedrive, version 2; they are not signed, and carry a user name and password of ours. */
export const pipedrive = definePreset({
  name: "pipedrive",
  title: "Pipedrive",
  documentation: "https://pipedrive.readme.io/docs/guide-for-webhooks-v2",
  auth: { scheme: "basic" },
  secret: { label: "HTTP Auth username:password", madeBy: "owner", minLength: 24 },
  event: eventOf,
  eventWhere: "body:meta.entity and body:meta.action",
  deliveryId: { from: "body:meta.id", signed: false },
  sender({ payload }: PresetContext) {
    const id = lineAt(payload, "meta.user_id");
    // A change through the API may be a person's own.
    return eventActor(id === "" ? "" : `user ${id}`, id);
  },
  vouchesForActors: true,
  ignored: "nothing. Pipedrive marks no bots; meta.change_source is app or api",
  success: { statuses: "2xx, within 10 seconds", otherwise: "tries 3 times more within minutes" },
  mapping: { name: "Pipedrive", maxBodyBytes: 1_048_576 },
  message,
  samples: {
    "deal.change": {
      payload: {
        data: deal,
        previous: { stage_id: 2, value: 9000, update_time: "2026-11-19T09:00:00Z" },
        meta: { ...meta, action: "change", id: "0f9d3c2a-0000-4000-8000-000000000001" },
      },
    },
    "deal.create": {
      payload: {
        data: deal,
        previous: null,
        meta: { ...meta, action: "create", id: "0f9d3c2a-0000-4000-8000-000000000002" },
      },
    },
    "person.delete": {
      payload: {
        data: null,
        previous: { id: 7, name: "Ada Byron" },
        meta: {
          ...meta,
          entity: "person",
          entity_id: "7",
          action: "delete",
          id: "0f9d3c2a-0000-4000-8000-000000000003",
        },
      },
    },
  },
  setup: [
    "Choose a user name and a password without a colon, and set both as hooks.pipedrive.secret, the {secret}: reveille:<password>.",
    "In Pipedrive open Settings, Tools and apps, Webhooks, Create new webhook, and choose version 2.",
    "Endpoint URL: {url}. Enter the same HTTP Auth username and password.",
  ],
});

function eventOf({ payload }: PresetContext): string | undefined {
  const [entity, action] = [lineAt(payload, "meta.entity"), lineAt(payload, "meta.action")];
  return entity === "" || action === "" ? undefined : `${entity}.${action}`;
}

const DONE: Readonly<Record<string, string>> = { create: "created", change: "changed", delete: "deleted" };

function message({ payload }: PresetEvent): string {
  const [data, previous] = [valueAt(payload, "data"), valueAt(payload, "previous")];
  const [entity, action] = [lineAt(payload, "meta.entity"), lineAt(payload, "meta.action")];
  const user = lineAt(payload, "meta.user_id");
  const done = Object.hasOwn(DONE, action) ? DONE[action]! : action;
  const host = lineAt(payload, "meta.host");
  const id = lineAt(payload, "meta.entity_id");
  const title = lineAt(data, "title", "name", "subject") || lineAt(previous, "title", "name", "subject");
  return messageOf(
    titled(headline("Pipedrive", entity || "event", done, phrase("by user", user)), title),
    action === "change"
      ? changeLines(withoutKeys(previous, "update_time"), data)
      : dataLines(withoutKeys(data ?? previous, "title", "name", "subject", "id")),
    labeled("Link", entity === "deal" && host !== "" && id !== "" ? `https://${host}/deal/${id}` : ""),
    labeled("Through", lineAt(payload, "meta.change_source")),
    idLine(payload, { [entity || "object"]: "meta.entity_id", company: "meta.company_id" }),
  );
}
