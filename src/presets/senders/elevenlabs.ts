import { definePreset } from "../define-preset.ts";
import { itemLines, joinText, labeled, listAt, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import type { PresetContext } from "../preset.ts";
import { dataLines } from "../message/data-lines.ts";
import { headline, lineAt, phrase, titled } from "../message/headline.ts";

/** Recordings come as base64 in JSON; ElevenLabs disables a webhook whose requests are refused. */
const MAX_BODY_BYTES = 33_554_432;
const MAX_TURNS = 100;

/**
 * Calls of ElevenLabs agents: transcripts, calls that failed to start, recordings. The key is the whole
 * secret with its prefix; the SDK takes a time up to 30 minutes old. The last retry comes after 40 minutes and may have the first time.
 */
export const elevenlabs = definePreset({
  name: "elevenlabs",
  title: "ElevenLabs",
  documentation: "https://elevenlabs.io/docs/eleven-agents/workflows/post-call-webhooks",
  auth: {
    scheme: "signature",
    from: "header:elevenlabs-signature",
    pair: "v0",
    separator: ",",
    encoding: "hex",
    algorithm: "hmac-sha256",
    timestamp: { from: "pair:t", unit: "seconds", toleranceSeconds: 3_000, futureSeconds: 300 },
    content: "{timestamp}.{body}",
  },
  secret: { label: "Webhook secret", madeBy: "sender", minLength: 16 },
  event: "body:type",
  deliveryId: { from: deliveryIdOf, where: "body:type + body:data.conversation_id", signed: true },
  skip: ({ event }) => (event === "post_call_audio" ? "a recording is nothing that an agent can read" : undefined),
  mapping: { name: "ElevenLabs", maxBodyBytes: MAX_BODY_BYTES },
  message({ payload, event }) {
    const data = valueAt(payload, "data");
    if (event === "post_call_transcription") return messageOf(transcriptLines(data));
    const agent = phrase("of the agent", agentOf(data));
    const conversation = labeled("Conversation", textAt(data, "conversation_id"));
    if (event === "call_initiation_failure") {
      const line = headline("ElevenLabs: a call", agent, "could not be started");
      return messageOf(titled(line, lineAt(data, "failure_reason")), conversation);
    }
    if (event === "post_call_audio") return messageOf(headline("ElevenLabs: recording of a call", agent), conversation);
    return messageOf(`ElevenLabs: ${lineAt(payload, "type") || "new event"}`, dataLines(data));
  },
  success: {
    statuses: "200",
    otherwise:
      "5xx, 429 and 408: tries up to 5 times within 40 minutes when retries are on; disables the webhook after 10 failures in a row without a success in 7 days",
  },
  ignored: "recordings. ElevenLabs marks no bots",
  samples: {
    post_call_transcription: {
      payload: {
        type: "post_call_transcription",
        event_timestamp: 1_763_640_000,
        data: {
          agent_id: "agent_01example",
          agent_name: "Front desk",
          conversation_id: "conv_01example",
          status: "done",
          user_id: "ada",
          transcript: [
            { role: "agent", message: "Hello, how can I help?", time_in_call_secs: 0 },
            { role: "user", message: "I would like to move my appointment to Friday.", time_in_call_secs: 3 },
            { role: "agent", message: null, tool_calls: [{ tool_name: "move_appointment" }], time_in_call_secs: 6 },
          ],
          metadata: { start_time_unix_secs: 1_763_639_900, call_duration_secs: 42, cost: 296, termination_reason: "" },
          analysis: {
            evaluation_criteria_results: {},
            data_collection_results: {},
            call_successful: "success",
            transcript_summary: "Ada moved her appointment to Friday.",
            call_summary_title: "Appointment moved",
          },
        },
      },
    },
    call_initiation_failure: {
      payload: {
        type: "call_initiation_failure",
        event_timestamp: 1_763_640_000,
        data: {
          agent_id: "agent_01example",
          conversation_id: "conv_02example",
          failure_reason: "busy",
          metadata: { type: "twilio", body: { CallSid: "CA00000000000000000000000000000000", CallStatus: "busy" } },
        },
      },
    },
    post_call_audio: {
      payload: {
        type: "post_call_audio",
        event_timestamp: 1_763_640_000,
        data: { agent_id: "agent_01example", conversation_id: "conv_01example", full_audio: "SUQzBAAAAAAA" },
      },
    },
  },
  setup: [
    "Open https://elevenlabs.io/app/settings/webhooks: Create webhook, paste {url}, keep HMAC as the way to authenticate.",
    "Copy the {secret} (wsec_...), which is shown once, and set it as hooks.elevenlabs.secret.",
    "Choose the webhook as post-call webhook in the settings of Agents (https://elevenlabs.io/app/agents/settings), with transcripts on and audio off.",
  ],
});

function deliveryIdOf({ payload }: PresetContext): string | undefined {
  const id = textAt(payload, "data.conversation_id", "data.request_id");
  return id === "" ? undefined : joinText(".", textAt(payload, "type"), id);
}

function transcriptLines(data: unknown): readonly string[] {
  const seconds = textAt(data, "metadata.call_duration_secs");
  return [
    titled(
      headline("ElevenLabs: a call", phrase("of the agent", agentOf(data)), "ended"),
      lineAt(data, "analysis.call_successful", "status"),
    ),
    labeled("Title", lineAt(data, "analysis.call_summary_title")),
    labeled("Summary", textAt(data, "analysis.transcript_summary")),
    labeled("With", lineAt(data, "user_id")),
    labeled("Length", seconds === "" ? "" : `${seconds} seconds`),
    ...itemLines(listAt(data, "transcript"), turnLine, MAX_TURNS),
    labeled("Conversation", textAt(data, "conversation_id")),
  ];
}

function turnLine(turn: unknown): string {
  return labeled(lineAt(turn, "role") || "someone", textAt(turn, "message"));
}

function agentOf(data: unknown): string {
  return lineAt(data, "agent_name", "agent_id");
}
