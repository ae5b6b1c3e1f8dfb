import { itemLines, joinText, labeled, listAt, messageOf, valueAt } from "../../core/payload-text.ts";
import { definePreset } from "../define-preset.ts";
import { contentId } from "../event-fields.ts";
import { dataLines } from "../message/data-lines.ts";
import { bodyAt, headline, lineAt, words } from "../message/headline.ts";

const KINDS = ["statusUpdate", "artifactUpdate", "message", "task"];

/** Push notifications of agents that speak A2A: version 1 posts one update, version 0.3 the whole task. */
export const a2a = definePreset({
  name: "a2a",
  title: "A2A push notifications",
  documentation: "https://a2a-protocol.org/latest/topics/streaming-and-async/",
  // The library for Go writes the name without X.
  auth: { scheme: "secret", from: ["header:x-a2a-notification-token", "header:a2a-notification-token"] },
  secret: { label: "token of the push notification config", madeBy: "owner" },
  event: ({ payload }) => eventOf(payload),
  eventWhere: "the state of the task, message or artifact",
  deliveryId: {
    // Without a time the same state could be reached twice; with one, version 0.3 posts the task again for each artifact.
    from({ payload }) {
      const update = updateOf(payload);
      const time = lineAt(update, "status.timestamp");
      const task = taskOf(payload);
      return time === "" || task === "" ? undefined : joinText("/", task, stateOf(update), time, contentId(payload));
    },
    where: "the task's id, state, time and content",
    signed: false,
  },
  success: { statuses: "2xx", otherwise: "may try again; the protocol promises nothing" },
  ignored: "nothing",
  mapping: { name: "A2A", maxBodyBytes: 4_194_304 },
  message({ payload, event }) {
    const update = updateOf(payload);
    const parts = [
      ...listAt(update, "status.message.parts"),
      ...listAt(update, "artifact.parts"),
      ...listAt(update, "parts"),
      ...listAt(update, "artifacts").flatMap((artifact) => listAt(artifact, "parts")),
    ];
    return messageOf(
      event === "message" || event === "artifact"
        ? headline("A2A: a task sent", event === "message" ? "a message" : "an artifact")
        : headline("A2A: the task is", words(event ?? "") || "in another state"),
      labeled("Artifact", lineAt(update, "artifact.name")),
      itemLines(parts, partText),
      labeled("Task", taskOf(payload)),
      labeled("Context", lineAt(update, "contextId")),
      labeled("At", lineAt(update, "status.timestamp")),
    );
  },
  samples: {
    completed: {
      headers: { "content-type": "application/a2a+json" },
      payload: {
        statusUpdate: {
          taskId: "43667960-d455-4453-b0cf-1bae4955270d",
          contextId: "c295ea44-7543-4f78-b524-7a38915ad6e4",
          status: {
            state: "TASK_STATE_COMPLETED",
            message: {
              messageId: "4a2c1f0e-9d3b-4a54-8a1c-5d1c0c9b7e21",
              role: "ROLE_AGENT",
              parts: [{ text: "The report is ready." }],
            },
            timestamp: "2026-11-20T11:59:58.123Z",
          },
        },
      },
    },
    artifact: {
      headers: { "content-type": "application/a2a+json" },
      payload: {
        artifactUpdate: {
          taskId: "43667960-d455-4453-b0cf-1bae4955270d",
          contextId: "c295ea44-7543-4f78-b524-7a38915ad6e4",
          artifact: {
            artifactId: "9b6934dd",
            name: "report",
            parts: [{ text: "Revenue grew." }, { data: { growth: 4 } }],
          },
          lastChunk: true,
        },
      },
    },
    version_0_3: {
      payload: {
        id: "43667960-d455-4453-b0cf-1bae4955270d",
        contextId: "c295ea44-7543-4f78-b524-7a38915ad6e4",
        kind: "task",
        status: { state: "input-required", timestamp: "2026-11-20T11:59:59.123Z" },
        artifacts: [{ artifactId: "9b6934dd", parts: [{ kind: "text", text: "Which quarter?" }] }],
      },
    },
  },
  setup: [
    "Make up the {secret}, for example with openssl rand -hex 32, and set it as hooks.a2a.secret.",
    'Give the agent {url} with a task or a message: "pushNotificationConfig":{"url":"{url}","token":"<the token>"}; in version 1 the key is taskPushNotificationConfig.',
    'For an agent that sends Authorization: Bearer instead, set hooks.a2a.auth to {"scheme":"secret","from":"header:authorization","prefix":"Bearer "}; for one that sends a signed token, to scheme jwt with its jwksUrl, issuer and audience.',
  ],
});

function updateOf(payload: unknown): unknown {
  const kind = KINDS.find((each) => typeof valueAt(payload, each) === "object" && valueAt(payload, each) !== null);
  return kind === undefined ? payload : valueAt(payload, kind);
}

function eventOf(payload: unknown): string | undefined {
  const state = stateOf(updateOf(payload));
  if (state !== "") return state;
  if (valueAt(payload, "artifactUpdate") !== undefined) return "artifact";
  return valueAt(payload, "message") === undefined ? undefined : "message";
}

/** `TASK_STATE_INPUT_REQUIRED` of version 1 as `input-required`. */
function stateOf(update: unknown): string {
  const state = lineAt(update, "status.state");
  return state.startsWith("TASK_STATE_") ? state.slice(11).toLowerCase().replaceAll("_", "-") : state;
}

function taskOf(payload: unknown): string {
  const update = updateOf(payload);
  return lineAt(update, "taskId", "id");
}

function partText(part: unknown): string {
  const text = bodyAt(part, "text");
  if (text !== "") return text;
  const name = lineAt(part, "filename", "file.name", "url", "file.uri");
  if (name !== "") return labeled("File", name);
  return joinText(", ", ...dataLines(valueAt(part, "data")));
}
