import { definePreset } from "../define-preset.ts";
import { batchEvent, batchId } from "../event-fields.ts";
import { embeddedBase64 } from "../embedded-payload.ts";
import { itemLines, labeled, messageOf, textAt, valueAt, wholeTextAt } from "../../core/payload-text.ts";
import type { PresetContext } from "../preset.ts";
import { dataLines } from "../message/data-lines.ts";
import { headline, oneLine, phrase } from "../message/headline.ts";

/** Values of `authtype` (extension Auth Context) that represent no person. */
const MACHINES: ReadonlySet<string> = new Set(["service_account", "api_key", "system"]);

/** The size that brokers let pass as one request. */
const MAX_BODY_BYTES = 1_048_576;

/** One CloudEvent, in whatever mode it came. */
interface CloudEvent {
  /** An attribute as one line; empty when it has none of this name. */
  readonly attribute: (name: string) => string;
  /** Of any length: cut, two ids could be taken for one. */
  readonly whole: (name: string) => string;
  readonly data: unknown;
}

/**
 * CloudEvents 1.0 over HTTP: attributes in `ce-*` headers (binary mode), in the body (structured mode),
 * or several in the body (batched mode). The sender proves itself with a bearer token (HTTP 1.1 Web Hooks
 * for Event Delivery, section 3), and asks for leave with OPTIONS (section 4).
 */
export const cloudevents = definePreset({
  name: "cloudevents",
  title: "CloudEvents",
  documentation: "https://github.com/cloudevents/spec/blob/main/cloudevents/http-webhook.md",
  auth: { scheme: "secret" },
  secret: { label: "Bearer token", madeBy: "owner" },
  handshakes: [
    {
      name: "validation request",
      method: "OPTIONS",
      verified: false,
      when: { "header:webhook-request-origin": true },
      reply: {
        status: 200,
        headers: {
          allow: "POST",
          "webhook-allowed-origin": "{header:webhook-request-origin}",
          "webhook-allowed-rate": "*",
        },
      },
    },
  ],
  event: (context) => batchEvent(eventsOf(context).map(({ attribute }) => attribute("type"))),
  eventWhere: "ce-type, or type of every event of the body",
  deliveryId: {
    from: (context) => batchId(eventsOf(context).map(idOf)),
    where: "ce-source + ce-id, or source + id of the body",
    signed: false,
  },
  sender(context) {
    const [event, ...more] = eventsOf(context);
    const name = event?.attribute("authid") ?? "";
    if (event === undefined || more.length > 0 || name === "") return undefined;
    return { name, bot: MACHINES.has(event.attribute("authtype")) };
  },
  unwrap: (payload) => (Array.isArray(payload) ? payload.map(withData) : withData(payload)),
  skip: (context) => (eventsOf(context).length === 0 ? "it holds no event" : undefined),
  answer: { status: 202 },
  mapping: { name: "CloudEvents", accept: ["json", "text"], maxBodyBytes: MAX_BODY_BYTES },
  message(context) {
    const events = eventsOf(context);
    const [event] = events;
    if (event === undefined || events.length > 1) {
      const title = event === undefined ? "CloudEvents: no events" : `CloudEvents: ${events.length} events`;
      return messageOf(
        title,
        itemLines(events, (each) => titleOf(each as CloudEvent)),
      );
    }
    return messageOf(
      headline("CloudEvent:", titleOf(event)),
      labeled("Time", event.attribute("time")),
      dataLines(event.data),
      labeled("Id", event.attribute("id")),
    );
  },
  success: {
    statuses: "2xx",
    otherwise: "depends on the sender; 410 ends the subscription, 429 with Retry-After delays it",
  },
  ignored: "events whose authtype is a machine, batches without an event",
  samples: {
    structured: {
      headers: { "content-type": "application/cloudevents+json; charset=utf-8" },
      payload: {
        specversion: "1.0",
        type: "com.example.order.paid",
        source: "https://shop.example.com/orders",
        subject: "A-1007",
        id: "c4a1f1b2-0d0c-4c2b-9c8f-1b7f1f6f2a11",
        time: "2026-11-20T11:59:58Z",
        datacontenttype: "application/json",
        data: { order: "A-1007", total: 42.5, currency: "EUR" },
      },
    },
    binary: {
      headers: {
        "ce-specversion": "1.0",
        "ce-type": "com.example.sensor.alarm",
        "ce-source": "/sensors/cellar",
        "ce-id": "A234-1234-1234",
        "ce-time": "2026-11-20T11:59:58Z",
        "ce-authtype": "service_account",
        "ce-authid": "sensors@example.com",
      },
      payload: { temperature: 31.5, unit: "C" },
    },
    base64: {
      headers: { "content-type": "application/cloudevents+json" },
      payload: {
        specversion: "1.0",
        type: "com.example.note",
        source: "/notes",
        id: "n-17",
        datacontenttype: "text/plain",
        data_base64: Buffer.from("The cellar is dry again.").toString("base64"),
      },
    },
    batched: {
      headers: { "content-type": "application/cloudevents-batch+json" },
      payload: ["opened", "closed"].map((state) => ({
        specversion: "1.0",
        type: `com.example.door.${state}`,
        source: "/doors/front",
        id: `door-${state}-1`,
      })),
    },
  },
  setup: [
    "Choose a {secret}, for example with openssl rand -hex 32, and set it as hooks.cloudevents.secret.",
    "Give the sender {url} as the sink or endpoint, with the header Authorization: Bearer <{secret}>.",
    'For a sender that can only add it to the URL, set hooks.cloudevents.auth to {"scheme": "secret", "from": "query:access_token"} and give it {url}?access_token=<{secret}>.',
  ],
});

/** In binary mode the attributes are headers, and the data may be a list; in the others the content type or the body says so. */
function eventsOf({ payload, headers }: PresetContext): readonly CloudEvent[] {
  const type = textAt(headers, "content-type").toLowerCase();
  if (type.startsWith("application/cloudevents") || textAt(headers, "ce-id") === "")
    return Array.isArray(payload) ? (payload as unknown[]).map(structured) : [structured(payload)];
  const keys = typeof payload === "object" && payload !== null ? Object.keys(payload) : [];
  const text = keys.length === 1 && type.startsWith("text/") ? valueAt(payload, "text") : undefined;
  const whole = (name: string) => percentDecoded(textOf(headers, `ce-${name}`));
  return [{ attribute: (name) => oneLine(whole(name)), whole, data: text ?? payload }];
}

function structured(event: unknown): CloudEvent {
  const isEvent = textAt(event, "specversion") !== "";
  const whole = (name: string) => textOf(event, name);
  return {
    attribute: (name) => oneLine(whole(name)),
    whole,
    data: isEvent ? valueAt(event, "data") : event,
  };
}

/** The binding writes what is not printable ASCII as in a URL (section 3.1.3.2). */
function percentDecoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

/** An id is unique for its source only. */
function idOf({ whole }: CloudEvent): string {
  const id = whole("id");
  return id === "" ? "" : headline(whole("source"), id);
}

function textOf(attributes: unknown, name: string): string {
  return wholeTextAt(attributes, name).trim() || textAt(attributes, name);
}

function titleOf({ attribute }: CloudEvent): string {
  return headline(
    attribute("type") || "event",
    phrase("from", attribute("source")),
    phrase("about", attribute("subject")),
  );
}

/** The event with the data that `data_base64` holds. */
function withData(event: unknown): unknown {
  const base64 = valueAt(event, "data_base64");
  if (typeof base64 !== "string" || valueAt(event, "data") !== undefined) return event;
  return { ...(event as object), data: embeddedBase64(base64) };
}
