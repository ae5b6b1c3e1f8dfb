import { definePreset } from "../define-preset.ts";
import { eventActor } from "../event-fields.ts";
import { joinText, labeled, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import type { EventActor, PresetContext, PresetEvent } from "../preset.ts";
import { dataLines } from "../message/data-lines.ts";
import { headline, lineAt, phrase, titled } from "../message/headline.ts";
import { unknownEvent } from "../message/unknown-event.ts";

/**
 * Automations of Home Assistant that call out with a `rest_command`.
 *
 * Home Assistant has no outgoing webhooks and signs nothing: the owner writes the request, so a secret in
 * its `Authorization` header is what it can carry. The payload is the owner's too; the setup proposes one.
 */
export const homeAssistant = definePreset({
  name: "home-assistant",
  title: "Home Assistant",
  documentation: "https://www.home-assistant.io/integrations/rest_command/",
  auth: { scheme: "secret", from: "header:authorization", prefix: "Bearer " },
  secret: { label: "secret", madeBy: "owner", minLength: 16 },
  event: ({ payload }) => lineAt(payload, "event", "event_type", "trigger.platform") || undefined,
  eventWhere: "event, event_type or the platform of the trigger",
  sender: senderOf,
  message,
  mapping: { name: "Home Assistant" },
  success: { statuses: "below 400", otherwise: "logs an error, and does not try again" },
  ignored: "nothing. Home Assistant marks no bots",
  samples: {
    state_changed: {
      payload: {
        event: "state_changed",
        entity_id: "binary_sensor.cellar_leak",
        name: "Cellar leak sensor",
        from: "off",
        to: "on",
        time: "2026-11-20T12:00:00+00:00",
      },
    },
    automation_triggered: {
      payload: {
        event: "automation_triggered",
        name: "Garage door open at night",
        entity_id: "automation.garage_door_open_at_night",
        message: "The garage door has been open for ten minutes.",
        user: "ada",
      },
    },
    trigger: {
      payload: {
        trigger: {
          platform: "state",
          entity_id: "sensor.freezer_temperature",
          from_state: { state: "-18.5" },
          to_state: { state: "-9.0", attributes: { friendly_name: "Freezer", unit_of_measurement: "°C" } },
        },
      },
    },
  },
  setup: [
    "Choose the {secret} (for example openssl rand -hex 32); put it into hooks.home-assistant.secret, and with Bearer before it into secrets.yaml of Home Assistant: reveille: Bearer <{secret}>",
    'In configuration.yaml under rest_command: tell_agent: with url: {url}, method: post, content_type: application/json, headers: with authorization: !secret reveille, and payload: \'{{ {"event": event, "name": name, "entity_id": entity, "message": message} | to_json }}\'',
    "Restart Home Assistant, and call the action rest_command.tell_agent from automations, with event, name, entity and message as its data.",
  ],
});

function senderOf({ payload }: PresetContext): EventActor | undefined {
  const name = lineAt(payload, "user", "user.name", "context.user_id");
  return eventActor(name);
}

function message(context: PresetEvent): string {
  const { payload, event } = context;
  const entity = lineAt(payload, "entity_id", "trigger.entity_id");
  const name = lineAt(payload, "title", "name", "trigger.to_state.attributes.friendly_name");
  const text = textAt(payload, "message", "text");
  const from = textAt(payload, "from", "from_state.state", "trigger.from_state.state");
  const to = textAt(payload, "to", "state", "to_state.state", "trigger.to_state.state");
  const sender = senderOf(context);
  if (joinText("", entity, name, text, to) === "") return unknownEvent("Home Assistant", event, sender, payload);
  const unit = textAt(payload, "unit", "trigger.to_state.attributes.unit_of_measurement");
  const change = headline(phrase("from", headline(from, from && unit)), phrase("to", headline(to, to && unit)));
  return messageOf(
    headline(titled("Home Assistant", joinText(", ", event ?? "", name || entity)), phrase("by", sender?.name ?? "")),
    labeled("Entity", name === "" ? "" : entity),
    labeled("State", change),
    text,
    dataLines(valueAt(payload, "data")),
  );
}
