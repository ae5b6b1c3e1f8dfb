import type { PresetSample } from "../../preset.ts";

const envelope = (eventId: string, event: object) => ({
  type: "event_callback",
  team_id: "T0EXAMPLE",
  api_app_id: "A0EXAMPLE",
  event,
  event_id: eventId,
  event_time: 1795176000,
  authorizations: [{ enterprise_id: null, team_id: "T0EXAMPLE", user_id: "U0AGENT", is_bot: true }],
});

/** Samples of Slack: events as JSON, commands and interactivity as forms. */
export const SLACK_SAMPLES: Readonly<Record<string, PresetSample>> = {
  app_mention: {
    payload: envelope("Ev0MENTION", {
      type: "app_mention",
      user: "U0ADA",
      text: "<@U0AGENT> is the nightly build green &amp; deployed?",
      ts: "1795176000.000100",
      channel: "C0BUILDS",
      event_ts: "1795176000.000100",
    }),
  },
  message: {
    payload: envelope("Ev0MESSAGE", {
      type: "message",
      channel_type: "im",
      user: "U0ADA",
      text: "Please look at the invoice.",
      ts: "1795176060.000200",
      thread_ts: "1795175000.000100",
      channel: "D0ADA",
      files: [{ name: "invoice.pdf", permalink: "https://example.slack.com/files/U0ADA/F0INVOICE/invoice.pdf" }],
      event_ts: "1795176060.000200",
    }),
  },
  reaction_added: {
    payload: envelope("Ev0REACTION", {
      type: "reaction_added",
      user: "U0GRACE",
      reaction: "eyes",
      item_user: "U0ADA",
      item: { type: "message", channel: "C0BUILDS", ts: "1795176000.000100" },
      event_ts: "1795176120.000300",
    }),
  },
  slash_command: {
    format: "form",
    payload: {
      team_id: "T0EXAMPLE",
      team_domain: "example",
      channel_id: "C0BUILDS",
      channel_name: "builds",
      user_id: "U0ADA",
      user_name: "ada",
      command: "/agent",
      text: "summarize the incident of this morning",
      api_app_id: "A0EXAMPLE",
      response_url: "https://hooks.example.com/commands/T0EXAMPLE/1/2",
      trigger_id: "13345224609.738474920.8088930838d88f008e0",
    },
  },
  block_actions: {
    format: "form",
    payload: {
      payload: JSON.stringify({
        type: "block_actions",
        team: { id: "T0EXAMPLE", domain: "example" },
        user: { id: "U0ADA", username: "ada", name: "ada" },
        api_app_id: "A0EXAMPLE",
        trigger_id: "12466734323.1395872398.8088930838d88f008e1",
        channel: { id: "C0BUILDS", name: "builds" },
        message: { type: "message", text: "Deploy build 118 to production?", ts: "1795176000.000100" },
        response_url: "https://hooks.example.com/actions/T0EXAMPLE/1/2",
        actions: [
          {
            type: "button",
            block_id: "deploy",
            action_id: "approve",
            text: { type: "plain_text", text: "Approve" },
            value: "build-118",
            action_ts: "1795176180.000400",
          },
        ],
      }),
    },
  },
};
