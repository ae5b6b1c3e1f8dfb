/** How senders check an endpoint, from their public documents: the data of the handshake, a request, its answer. */
import { createHash, createHmac } from "node:crypto";
import type { PresetSettings } from "../../../../src/config/preset.ts";
import type { Handshake } from "../../../../src/config/handshake.ts";
import type { Answer } from "../../../../src/http/answer.ts";
import { empty, json, plain, SECRET } from "./handshake-bench.ts";
import type { Sent } from "./handshake-bench.ts";

export interface SenderRow {
  readonly sender: string;
  readonly handshake: Handshake;
  readonly settings?: PresetSettings;
  /** Absent: the route has {@link SECRET}. */
  readonly secrets?: readonly string[];
  readonly sent: Sent;
  readonly answer: Answer;
}

const CHALLENGE = "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P";
const UUID = "890e4665-4dfe-4ab1-b689-ed553bceeed0";
const VERIFY_TOKEN = "verify-token-of-the-owner";
const URL_PATH = "https://gateway.example.com/hooks/sender";

const hmac = (text: string, encoding: "hex" | "base64"): string =>
  createHmac("sha256", SECRET).update(text).digest(encoding);
const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

export const SENDERS: readonly SenderRow[] = [
  {
    sender: "Slack, URL verification as JSON",
    handshake: {
      name: "url_verification",
      verified: true,
      when: { "body:type": "url_verification" },
      reply: { status: 200, json: { challenge: "{body:challenge}" } },
    },
    sent: { json: { token: "Jhj5dZrVaK7ZwHHjRyZWjbDl", challenge: CHALLENGE, type: "url_verification" } },
    answer: json(`{"challenge":"${CHALLENGE}"}`),
  },
  {
    sender: "Slack, URL verification as text",
    handshake: {
      name: "url_verification",
      verified: true,
      when: { "body:type": "url_verification" },
      reply: { status: 200, text: "{body:challenge}" },
    },
    sent: { json: { token: "Jhj5dZrVaK7ZwHHjRyZWjbDl", challenge: CHALLENGE, type: "url_verification" } },
    answer: plain(CHALLENGE),
  },
  {
    sender: "Slack, ssl_check of an unsigned form, all else of it dropped",
    handshake: { name: "ssl_check", verified: false, when: { "body:ssl_check": "1" }, reply: { status: 200 } },
    sent: { form: "token=gIkuvaNzQIHg97ATvDxqgjtO&ssl_check=1&command=%2Fwake&text=do+it" },
    answer: empty(200),
  },
  {
    sender: "Feishu",
    handshake: {
      name: "url_verification",
      verified: false,
      when: { "body:type": "url_verification", "body:token": { setting: "verificationToken" }, "body:challenge": true },
      onlyKeys: ["type", "token", "challenge"],
      reply: { status: 200, json: { challenge: "{body:challenge}" } },
    },
    settings: { verificationToken: VERIFY_TOKEN },
    sent: { json: { challenge: UUID, token: VERIFY_TOKEN, type: "url_verification" } },
    answer: json(`{"challenge":"${UUID}"}`),
  },
  {
    sender: "monday.com",
    handshake: {
      name: "challenge",
      verified: false,
      when: { "body:challenge": true },
      onlyKeys: ["challenge"],
      reply: { status: 200, json: { challenge: "{body:challenge}" } },
    },
    sent: { json: { challenge: CHALLENGE } },
    answer: json(`{"challenge":"${CHALLENGE}"}`),
  },
  {
    sender: "MCP Events",
    handshake: {
      name: "verification",
      verified: true,
      when: { "body:type": "verification" },
      reply: { status: 200, json: { challenge: "{body:challenge}" } },
    },
    sent: { json: { type: "verification", challenge: CHALLENGE } },
    answer: json(`{"challenge":"${CHALLENGE}"}`),
  },
  {
    sender: "Smartcar",
    handshake: {
      name: "VERIFY",
      verified: false,
      when: { "body:eventType": "VERIFY", "body:data.challenge": true },
      onlyKeys: ["eventId", "eventType", "data", "meta"],
      computed: { response: { algorithm: "hmac-sha256", encoding: "hex", of: "{body:data.challenge}" } },
      reply: { status: 200, json: { challenge: "{computed:response}" } },
    },
    sent: { json: { eventId: UUID, eventType: "VERIFY", data: { challenge: UUID }, meta: { version: "4.0" } } },
    answer: json(`{"challenge":"${hmac(UUID, "hex")}"}`),
  },
  {
    sender: "Meta",
    handshake: {
      name: "subscribe",
      method: "GET",
      verified: false,
      when: { "query:hub.mode": "subscribe", "query:hub.verify_token": { setting: "verifyToken" } },
      onlyKeys: ["hub.mode", "hub.verify_token", "hub.challenge"],
      reply: { status: 200, text: "{query:hub.challenge}" },
    },
    settings: { verifyToken: VERIFY_TOKEN },
    sent: { method: "GET", query: `hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=${VERIFY_TOKEN}` },
    answer: plain("1158201444"),
  },
  {
    sender: "Strava",
    handshake: {
      name: "subscribe",
      method: "GET",
      verified: false,
      when: { "query:hub.mode": "subscribe", "query:hub.verify_token": { setting: "verifyToken" } },
      onlyKeys: ["hub.mode", "hub.verify_token", "hub.challenge"],
      reply: { status: 200, json: { "hub.challenge": "{query:hub.challenge}" } },
    },
    settings: { verifyToken: VERIFY_TOKEN },
    sent: {
      method: "GET",
      query: `hub.verify_token=${VERIFY_TOKEN}&hub.challenge=15f7d1a91c1f40f8&hub.mode=subscribe`,
    },
    answer: json('{"hub.challenge":"15f7d1a91c1f40f8"}'),
  },
  {
    sender: "Nylas and Dropbox",
    handshake: {
      name: "challenge",
      method: "GET",
      verified: false,
      onlyKeys: ["challenge"],
      reply: { status: 200, text: "{query:challenge}" },
    },
    sent: { method: "GET", query: "challenge=bc609b38-c81f%2Fa+%C3%A4" },
    answer: plain("bc609b38-c81f/a ä"),
  },
  {
    sender: "Onfleet",
    handshake: {
      name: "check",
      method: "GET",
      verified: false,
      onlyKeys: ["check"],
      reply: { status: 200, text: "{query:check}" },
    },
    sent: { method: "GET", query: "check=08d3c1fa51bcf9" },
    answer: plain("08d3c1fa51bcf9"),
  },
  {
    sender: "LinkedIn",
    handshake: {
      name: "challengeCode",
      method: "GET",
      verified: false,
      onlyKeys: ["challengeCode", "applicationId"],
      computed: { response: { algorithm: "hmac-sha256", encoding: "hex", of: "{query:challengeCode}" } },
      reply: {
        status: 200,
        json: { challengeCode: "{query:challengeCode}", challengeResponse: "{computed:response}" },
      },
    },
    sent: { method: "GET", query: `challengeCode=${UUID}&applicationId=5249321` },
    answer: json(`{"challengeCode":"${UUID}","challengeResponse":"${hmac(UUID, "hex")}"}`),
  },
  {
    sender: "X",
    handshake: {
      name: "crc",
      method: "GET",
      verified: false,
      onlyKeys: ["crc_token", "nonce"],
      computed: { response: { algorithm: "hmac-sha256", encoding: "base64", of: "{query:crc_token}" } },
      reply: { status: 200, json: { response_token: "sha256={computed:response}" } },
    },
    sent: { method: "GET", query: "crc_token=NDVlOWFlZWItMjVjNy00ZjU5LWFlYTAtYmY1Y2Y4ZmYzMzFlCg%3D%3D&nonce=1" },
    answer: json(
      `{"response_token":"sha256=${hmac("NDVlOWFlZWItMjVjNy00ZjU5LWFlYTAtYmY1Y2Y4ZmYzMzFlCg==", "base64")}"}`,
    ),
  },
  {
    sender: "eBay, with the endpoint as a setting",
    handshake: {
      name: "challenge_code",
      method: "GET",
      verified: false,
      onlyKeys: ["challenge_code"],
      computed: {
        response: {
          algorithm: "sha256",
          encoding: "hex",
          of: "{query:challenge_code}{setting:verificationToken}{setting:endpoint}",
        },
      },
      reply: { status: 200, json: { challengeResponse: "{computed:response}" } },
    },
    settings: { verificationToken: VERIFY_TOKEN, endpoint: URL_PATH },
    sent: { method: "GET", query: "challenge_code=a8628072" },
    answer: json(`{"challengeResponse":"${sha256(`a8628072${VERIFY_TOKEN}${URL_PATH}`)}"}`),
  },
  {
    sender: "eBay, with the endpoint as the public URL",
    handshake: {
      name: "challenge_code",
      method: "GET",
      verified: false,
      onlyKeys: ["challenge_code"],
      computed: {
        response: {
          algorithm: "sha256",
          encoding: "hex",
          of: "{query:challenge_code}{setting:verificationToken}{url}",
        },
      },
      reply: { status: 200, json: { challengeResponse: "{computed:response}" } },
    },
    settings: { verificationToken: VERIFY_TOKEN },
    sent: { method: "GET", query: "challenge_code=a8628072" },
    answer: json(`{"challengeResponse":"${sha256(`a8628072${VERIFY_TOKEN}${URL_PATH}`)}"}`),
  },
  {
    sender: "Microsoft Graph, POST",
    handshake: {
      name: "validationToken",
      verified: false,
      when: { "query:validationToken": true },
      emptyBody: true,
      reply: { status: 200, text: "{query:validationToken}" },
    },
    sent: {
      query: "validationToken=Validation%3A+Testing+client+application+reachability%20for%3a",
      headers: { "content-type": "text/plain" },
    },
    answer: plain("Validation: Testing client application reachability for:"),
  },
  {
    sender: "Microsoft Graph, GET",
    handshake: {
      name: "validationToken",
      method: "GET",
      verified: false,
      onlyKeys: ["validationToken"],
      reply: { status: 200, text: "{query:validationToken}" },
    },
    sent: { method: "GET", query: `validationToken=${UUID}` },
    answer: plain(UUID),
  },
  {
    sender: "SharePoint",
    handshake: {
      name: "validationtoken",
      verified: false,
      when: { "query:validationtoken": true },
      emptyBody: true,
      reply: { status: 200, text: "{query:validationtoken}" },
    },
    sent: { query: `validationtoken=${UUID}` },
    answer: plain(UUID),
  },
  {
    sender: "Asana, which delivers the key",
    handshake: {
      name: "X-Hook-Secret",
      verified: false,
      when: { "header:x-hook-secret": true },
      onlyKeys: [],
      reply: { status: 200, headers: { "X-Hook-Secret": "{header:x-hook-secret}" } },
      effect: { keyFrom: "header:x-hook-secret" },
    },
    secrets: [],
    sent: { json: {}, headers: { "x-hook-secret": "b537207f20cbfa02357cf448134da559" } },
    answer: empty(200, { "x-hook-secret": "b537207f20cbfa02357cf448134da559" }),
  },
  {
    sender: "Clio, which delivers the key with a body",
    handshake: {
      name: "X-Hook-Secret",
      verified: false,
      when: { "header:x-hook-secret": true },
      onlyKeys: ["data", "meta"],
      reply: { status: 200, headers: { "X-Hook-Secret": "{header:x-hook-secret}" } },
      effect: { keyFrom: "header:x-hook-secret" },
    },
    secrets: [],
    sent: { json: { data: {}, meta: { event: "confirm" } }, headers: { "x-hook-secret": UUID } },
    answer: empty(200, { "x-hook-secret": UUID }),
  },
  {
    sender: "RingCentral",
    handshake: {
      name: "Validation-Token",
      verified: false,
      when: { "header:validation-token": true },
      onlyKeys: [],
      reply: { status: 200, headers: { "Validation-Token": "{header:validation-token}" } },
    },
    sent: { headers: { "validation-token": UUID } },
    answer: empty(200, { "validation-token": UUID }),
  },
  {
    sender: "Vercel drains",
    handshake: {
      name: "x-vercel-verify",
      verified: false,
      when: { "header:x-vercel-verify": true },
      onlyKeys: [],
      reply: { status: 200, headers: { "x-vercel-verify": "{header:x-vercel-verify}" } },
    },
    sent: { headers: { "x-vercel-verify": "63f4ebdc" } },
    answer: empty(200, { "x-vercel-verify": "63f4ebdc" }),
  },
  {
    sender: "Front",
    handshake: {
      name: "X-Front-Challenge",
      verified: true,
      when: { "header:x-front-challenge": true },
      reply: {
        status: 200,
        text: "{header:x-front-challenge}",
        headers: { "X-Front-Challenge": "{header:x-front-challenge}" },
      },
    },
    sent: { json: { type: "sync" }, headers: { "x-front-challenge": UUID } },
    answer: plain(UUID, { "x-front-challenge": UUID }),
  },
  {
    sender: "Okta",
    handshake: {
      name: "verification",
      method: "GET",
      verified: false,
      when: { "header:X-Okta-Verification-Challenge": true },
      onlyKeys: [],
      reply: { status: 200, json: { verification: "{header:X-Okta-Verification-Challenge}" } },
    },
    sent: { method: "GET", headers: { "x-okta-verification-challenge": "qGv7kLTkzWYbOT0wzhLD" } },
    answer: json('{"verification":"qGv7kLTkzWYbOT0wzhLD"}'),
  },
  {
    sender: "Zoom",
    handshake: {
      name: "endpoint.url_validation",
      verified: true,
      when: { "body:event": "endpoint.url_validation" },
      computed: { token: { algorithm: "hmac-sha256", encoding: "hex", of: "{body:payload.plainToken}" } },
      reply: {
        status: 200,
        json: { plainToken: "{body:payload.plainToken}", encryptedToken: "{computed:token}" },
      },
    },
    sent: {
      json: {
        payload: { plainToken: "qgg8vlvZRS6UYooatFL8Aw" },
        event_ts: 1_654_503_849_680,
        event: "endpoint.url_validation",
      },
    },
    answer: json(`{"plainToken":"qgg8vlvZRS6UYooatFL8Aw","encryptedToken":"${hmac("qgg8vlvZRS6UYooatFL8Aw", "hex")}"}`),
  },
  {
    sender: "Tebex",
    handshake: {
      name: "validation.webhook",
      verified: true,
      when: { "body:type": "validation.webhook" },
      reply: { status: 200, json: { id: "{body:id}" } },
    },
    sent: { json: { id: UUID, type: "validation.webhook", date: "2026-11-20T12:00:00Z", subject: {} } },
    answer: json(`{"id":"${UUID}"}`),
  },
  {
    sender: "Discord interactions, PING",
    handshake: {
      name: "PING",
      verified: true,
      when: { "body:type": "1" },
      reply: { status: 200, json: { type: 1 } },
    },
    sent: { json: { id: "1", type: 1, application_id: "2", version: 1 } },
    answer: json('{"type":1}'),
  },
  {
    sender: "Discord events, PING",
    handshake: {
      name: "PING",
      verified: true,
      when: { "body:type": "0" },
      reply: { status: 204, headers: { "Content-Type": "application/json" } },
    },
    sent: { json: { version: 1, application_id: "2", type: 0 } },
    answer: empty(204, { "content-type": "application/json" }),
  },
  {
    sender: "AWS SNS",
    handshake: {
      name: "SubscriptionConfirmation",
      verified: true,
      when: { "header:x-amz-sns-message-type": "SubscriptionConfirmation", "body:Type": "SubscriptionConfirmation" },
      reply: { status: 200 },
      effect: { confirmUrlFrom: "body:SubscribeURL", confirmHosts: ["sns.*.amazonaws.com", "sns.*.amazonaws.com.cn"] },
    },
    sent: {
      headers: { "x-amz-sns-message-type": "SubscriptionConfirmation", "content-type": "text/plain; charset=UTF-8" },
      json: {
        Type: "SubscriptionConfirmation",
        SubscribeURL: "https://sns.us-west-2.amazonaws.com/?Action=ConfirmSubscription&Token=2336412f37",
      },
    },
    answer: empty(200),
  },
  {
    sender: "Twitch",
    handshake: {
      name: "webhook_callback_verification",
      verified: true,
      when: { "header:twitch-eventsub-message-type": "webhook_callback_verification" },
      reply: { status: 200, text: "{body:challenge}" },
    },
    sent: {
      headers: { "twitch-eventsub-message-type": "webhook_callback_verification" },
      json: { challenge: "pogchamp-kappa-360noscope-vohiyo", subscription: { type: "channel.follow" } },
    },
    answer: plain("pogchamp-kappa-360noscope-vohiyo"),
  },
  {
    sender: "Notion, whose first POST delivers the key",
    handshake: {
      name: "verification_token",
      verified: false,
      when: { "body:verification_token": true },
      onlyKeys: ["verification_token"],
      reply: { status: 200 },
      effect: { keyFrom: "body:verification_token" },
    },
    secrets: [],
    sent: { json: { verification_token: "secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl" } },
    answer: empty(200),
  },
  {
    sender: "Trello and Circle",
    handshake: { name: "HEAD", method: "HEAD", verified: false, reply: { status: 200 } },
    sent: { method: "HEAD" },
    answer: empty(200),
  },
  {
    sender: "Exact Online",
    handshake: { name: "empty", verified: false, emptyBody: true, reply: { status: 200 } },
    sent: {},
    answer: empty(200),
  },
  {
    sender: "Asana, heartbeat",
    handshake: {
      name: "heartbeat",
      verified: true,
      when: { "body:events": { empty: true } },
      onlyKeys: ["events"],
      reply: { status: 200 },
    },
    sent: { json: { events: [] } },
    answer: empty(200),
  },
  {
    sender: "CloudEvents, with a rate",
    handshake: {
      name: "OPTIONS",
      method: "OPTIONS",
      verified: false,
      when: { "header:webhook-request-origin": true, "header:webhook-request-rate": true },
      reply: {
        status: 200,
        headers: {
          "WebHook-Allowed-Origin": "{header:webhook-request-origin}",
          "WebHook-Allowed-Rate": "{header:webhook-request-rate}",
          Allow: "POST",
        },
      },
    },
    sent: {
      method: "OPTIONS",
      headers: { "webhook-request-origin": "eventemitter.example.com", "webhook-request-rate": "120" },
    },
    answer: empty(200, {
      "webhook-allowed-origin": "eventemitter.example.com",
      "webhook-allowed-rate": "120",
      allow: "POST",
    }),
  },
  {
    sender: "CloudEvents, without a rate",
    handshake: {
      name: "OPTIONS",
      method: "OPTIONS",
      verified: false,
      when: { "header:webhook-request-origin": true, "header:webhook-request-rate": false },
      reply: {
        status: 200,
        headers: { "WebHook-Allowed-Origin": "{header:webhook-request-origin}", Allow: "POST" },
      },
    },
    sent: { method: "OPTIONS", headers: { "webhook-request-origin": "eventemitter.example.com" } },
    answer: empty(200, { "webhook-allowed-origin": "eventemitter.example.com", allow: "POST" }),
  },
];
