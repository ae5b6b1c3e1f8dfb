import { describe, expect, it } from "vitest";
import type { Preset } from "../../../../src/presets/preset.ts";
import { awsSns } from "../../../../src/presets/senders/aws-sns/aws-sns.ts";
import { clerk } from "../../../../src/presets/senders/clerk.ts";
import { cloudevents } from "../../../../src/presets/senders/cloudevents.ts";
import { elevenlabs } from "../../../../src/presets/senders/elevenlabs.ts";
import { gmailPush } from "../../../../src/presets/senders/google/gmail-push.ts";
import { googlePubsub } from "../../../../src/presets/senders/google/google-pubsub.ts";
import { microsoftGraph } from "../../../../src/presets/senders/microsoft-graph.ts";
import { openai } from "../../../../src/presets/senders/openai.ts";
import { resend } from "../../../../src/presets/senders/resend.ts";
import { sendgrid } from "../../../../src/presets/senders/sendgrid.ts";
import { standardWebhooks } from "../../../../src/presets/senders/standard-webhooks/standard-webhooks.ts";
import { svix } from "../../../../src/presets/senders/svix.ts";
import { workos } from "../../../../src/presets/senders/workos.ts";

const PUBSUB_ID = "body:subscription + body:message.messageId";

describe("what a preset says of its sender", () => {
  it.each<[Preset, string, string, boolean]>([
    [awsSns, "the event in Message, or Type", "body:MessageId", true],
    [clerk, "body:type", "header:svix-id", true],
    [
      cloudevents,
      "ce-type, or type of every event of the body",
      "ce-source + ce-id, or source + id of the body",
      false,
    ],
    [elevenlabs, "body:type", "body:type + body:data.conversation_id", true],
    [gmailPush, "mailbox.changed, if there is a history id", PUBSUB_ID, false],
    [googlePubsub, "eventType or ce-type of the attributes, or the state of the incident", PUBSUB_ID, false],
    [
      microsoftGraph,
      "type and changeType of every change, or its lifecycleEvent",
      "body:value[].id, or subscription, change and version of the resource",
      false,
    ],
    [openai, "body:type", "header:webhook-id", true],
    [resend, "body:type", "header:svix-id", true],
    [sendgrid, "body:[].event", "body:[].sg_event_id", true],
    [standardWebhooks, "body:type", "header:webhook-id", true],
    [svix, "event_type, eventType, type or event", "header:svix-id", true],
    [workos, "body:event", "body:id", true],
  ])("is where event and id are, and whether the id is signed: $name", (preset, event, id, signed) => {
    expect([preset.eventSource, preset.deliveryIdSource, preset.deliveryIdSigned]).toEqual([event, id, signed]);
  });

  it.each<[Preset, "owner" | "sender", number]>([
    [clerk, "sender", 32],
    [cloudevents, "owner", 16],
    [elevenlabs, "sender", 16],
    [microsoftGraph, "owner", 16],
    [openai, "sender", 32],
    [resend, "sender", 32],
    [sendgrid, "sender", 100],
    [standardWebhooks, "sender", 32],
    [svix, "sender", 32],
    [workos, "sender", 16],
  ])("is who makes its secret, and how short it may be: $name", (preset, madeBy, minLength) => {
    expect(preset.secret).toMatchObject({ required: true, madeBy, minLength });
  });

  it.each([awsSns, gmailPush, googlePubsub])("is that it needs no secret: $name", (preset) => {
    expect(preset.secret).toBeUndefined();
  });

  it.each([clerk, openai, resend, standardWebhooks, svix])("is which secrets everybody knows: $name", (preset) => {
    expect(preset.secret?.known).toContain("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  });

  it.each<[Preset, number]>([
    [awsSns, 1_048_576],
    [cloudevents, 1_048_576],
    [elevenlabs, 33_554_432],
    [googlePubsub, 16_777_216],
    [microsoftGraph, 1_048_576],
    [sendgrid, 1_048_576],
  ])("is how large its requests may be: $name", (preset, bytes) => {
    expect(preset.mapping({}).maxBodyBytes).toBe(bytes);
  });
});
