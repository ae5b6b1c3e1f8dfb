import { labeled, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import { definePreset } from "../define-preset.ts";
import { dataLines, withoutKeys } from "../message/data-lines.ts";
import { headline, lineAt, spoken } from "../message/headline.ts";
import { timeText } from "../message/value-text.ts";
import { whsecSender } from "./standard-webhooks/whsec-sender.ts";

/** The place of an event's object, by the first word of its name. */
const RESOURCES: Readonly<Record<string, string>> = {
  session: "sessions",
  agent: "agents",
  deployment: "deployments",
  environment: "environments",
  vault: "vaults",
  memory_store: "memory_stores",
};

/** State changes of Claude's managed agents: the type and the id of the object, without its content. */
export const anthropic = definePreset({
  name: "anthropic",
  title: "Claude Managed Agents",
  documentation: "https://platform.claude.com/docs/en/managed-agents/webhooks",
  ...whsecSender("webhook", "Signing secret"),
  event: "body:data.type",
  deliveryId: { from: "body:id", signed: true },
  success: { statuses: "2xx", otherwise: "tries again" },
  ignored: "nothing",
  mapping: { name: "Claude" },
  message({ payload, event }) {
    const data = valueAt(payload, "data");
    const id = lineAt(data, "id");
    const [kind = ""] = (event ?? "").split(".", 1);
    const resource = Object.hasOwn(RESOURCES, kind) ? RESOURCES[kind]! : "";
    return messageOf(
      headline(`Claude: ${spoken(event ?? "") || "new event"}`),
      labeled("Id", id),
      labeled("Thread", lineAt(data, "session_thread_id")),
      labeled("Workspace", lineAt(data, "workspace_id")),
      dataLines(withoutKeys(data, "id", "type", "session_thread_id", "workspace_id", "organization_id")),
      labeled("At", timeText(textAt(payload, "created_at"))),
      resource === "" || id === ""
        ? ""
        : `Its content is not in the webhook: GET https://api.anthropic.com/v1/${resource}/${id}`,
    );
  },
  samples: {
    "session.status_idled": sample(
      "session.status_idled",
      "event_011CZkZEtmR3yMPDzynEDxu7",
      "sesn_011CZkZAtmR3yMPDzynEDxu7",
    ),
    "session.thread_idled": sample(
      "session.thread_idled",
      "event_011CZkZFtmR3yMPDzynEDxu7",
      "sesn_011CZkZAtmR3yMPDzynEDxu7",
      {
        session_thread_id: "sthr_011CZkZBtmR3yMPDzynEDxu7",
      },
    ),
    "vault_credential.refresh_failed": sample(
      "vault_credential.refresh_failed",
      "event_011CZkZGtmR3yMPDzynEDxu7",
      "vcrd_011CZkZCtmR3yMPDzynEDxu7",
    ),
  },
  setup: [
    "In the Claude Console open Manage, Webhooks: add an endpoint with {url} and choose the event types.",
    "Copy the {secret} (whsec_...), which is shown once, and set it as hooks.anthropic.secret.",
  ],
});

function sample(type: string, eventId: string, id: string, more: object = {}): { payload: unknown } {
  return {
    payload: {
      type: "event",
      id: eventId,
      created_at: "2026-11-20T11:59:58Z",
      data: {
        type,
        id,
        organization_id: "8a3d2f1e-0000-4000-8000-000000000000",
        workspace_id: "wrkspc_011CZkZDtmR3yMPDzynEDxu7",
        ...more,
      },
    },
  };
}
