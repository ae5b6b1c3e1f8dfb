import { joinText, labeled, messageOf, textAt } from "../../core/payload-text.ts";
import { definePreset } from "../define-preset.ts";
import { eventActor } from "../event-fields.ts";
import { headline, lineAt } from "../message/headline.ts";
import { plainText } from "../message/value-text.ts";

/** Teams shows this below the message, and an error when no message comes within five seconds. */
const RECEIVED = { type: "message", text: "Received." };

/** Messages that mention an outgoing webhook of a Teams team. Teams takes one answer and no later ones. */
export const microsoftTeams = definePreset({
  name: "microsoft-teams",
  title: "Microsoft Teams",
  documentation:
    "https://learn.microsoft.com/en-us/microsoftteams/platform/webhooks-and-connectors/how-to/add-outgoing-webhook",
  auth: {
    scheme: "signature",
    from: "header:authorization",
    prefix: "HMAC ",
    encoding: "base64",
    keyEncoding: "base64",
  },
  secret: {
    label: "Security token",
    madeBy: "sender",
    minLength: 24,
    known: ["vqF0En+Z0ucuRTM/01o2GuhMH3hKKk/N2bOmlM31zaA=", "+ZaRRMC8+mpnfGaGsBOmkIFt98bttL5YQRq3p2tXgcE="],
  },
  event: "body:type",
  deliveryId: { from: ["body:conversation.id", "body:id"], signed: true },
  sender: ({ payload }) => eventActor(lineAt(payload, "from.name"), lineAt(payload, "from.aadObjectId", "from.id")),
  vouchesForActors: true,
  answer: { status: 200, contentType: "application/json", body: JSON.stringify(RECEIVED) },
  success: { statuses: "200 with a message, within 5 seconds", otherwise: "shows an error below the message" },
  ignored: "nothing. Teams sends messages of people only",
  mapping: { name: "Teams" },
  message: ({ payload }) =>
    messageOf(
      headline("Teams:", lineAt(payload, "from.name") || "a member", "wrote"),
      textOf(payload),
      labeled(
        "Team",
        joinText(" ", lineAt(payload, "channelData.team.name"), lineAt(payload, "channelData.teamsTeamId")),
      ),
      labeled("Channel", lineAt(payload, "channelData.channel.name", "channelData.teamsChannelId")),
      labeled("Conversation", lineAt(payload, "conversation.id")),
      labeled("Message id", lineAt(payload, "id")),
      labeled("Author id", lineAt(payload, "from.aadObjectId", "from.id")),
    ),
  samples: {
    message: {
      payload: {
        type: "message",
        id: "1795175990521",
        timestamp: "2026-11-20T11:59:50.521Z",
        localTimestamp: "2026-11-20T12:59:50.521+01:00",
        serviceUrl: "https://smba.trafficmanager.net/emea/",
        channelId: "msteams",
        from: {
          id: "29:1XJKJMvc5GBtc2JwZq0oj8tHZmzrQgFmB39ATiQWA85g",
          name: "Ada Byron",
          aadObjectId: "8c0b2b7e-5a3c-4b1b-9a52-1f0d4c7a1a10",
        },
        conversation: {
          isGroup: true,
          id: "19:253b1f341670408fb6fe51050b6e5ceb@thread.tacv2;messageid=1795175990521",
          name: null,
        },
        recipient: null,
        textFormat: "plain",
        attachmentLayout: null,
        attachments: [{ contentType: "text/html", content: "<div><at>Reveille</at> restart the staging server</div>" }],
        text: "<at>Reveille</at>&nbsp;restart the staging server",
        entities: [{ type: "clientInfo", locale: "en-US", country: "US", platform: "Windows" }],
        channelData: {
          teamsChannelId: "19:253b1f341670408fb6fe51050b6e5ceb@thread.tacv2",
          teamsTeamId: "19:712c61d0ef384e5fa681ba90ca943398@thread.tacv2",
          channel: { id: "19:253b1f341670408fb6fe51050b6e5ceb@thread.tacv2" },
          team: { id: "19:712c61d0ef384e5fa681ba90ca943398@thread.tacv2" },
          tenant: { id: "72f988bf-86f1-41af-91ab-2d7cd011db47" },
        },
        locale: "en-US",
      },
    },
  },
  setup: [
    "In Teams open the team, Manage team, Apps, and choose Create an outgoing webhook: a name to mention, and {url} as Callback URL.",
    "Copy the {secret}, which Teams shows once, into hooks.microsoft-teams.secret.",
    "Teams shows Received. below a message; the agent's reply goes where the mapping delivers it, since an outgoing webhook cannot post later.",
  ],
});

const MENTION = /<at\b[^<>]*>[^<>]*<\/at>/giu;

function textOf(payload: unknown): string {
  return plainText(textAt(payload, "text").replaceAll(MENTION, ""));
}
