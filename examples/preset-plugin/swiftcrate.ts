import { definePreset, labeled, messageOf, textAt } from "reveille";
import { samples } from "./swiftcrate-samples.ts";

/** The first line of a message, by event. */
const headlines: ReadonlyMap<string, string> = new Map([
  ["parcel.delivered", "was delivered"],
  ["parcel.failed", "could not be delivered"],
  ["parcel.scanned", "is on its way"],
]);

export default definePreset({
  name: "swiftcrate",
  title: "Swiftcrate",
  documentation: "https://swiftcrate.example.com/docs/notifications",

  // X-Swiftcrate-Signature: t=<seconds>,v1=<HMAC-SHA256 over "<seconds>.<body>", in hex>
  auth: {
    scheme: "signature",
    algorithm: "hmac-sha256",
    from: "header:x-swiftcrate-signature",
    pair: "v1",
    encoding: "hex",
    content: "{timestamp}.{body}",
    timestamp: { from: "pair:t", toleranceSeconds: 300 },
  },
  secret: { label: "Signing key", madeBy: "sender", minLength: 16 },
  settings: {
    type: "object",
    properties: {
      scans: { type: "boolean", title: "true or false", description: "Whether scans on the way are taken." },
    },
  },

  event: "body:type",
  deliveryId: { from: "body:id", signed: true },
  sender: ({ payload }) => {
    const name = textAt(payload, "actor.name");
    return name === "" ? undefined : { name, bot: textAt(payload, "actor.kind") === "machine" };
  },
  skip: ({ event, settings }) => {
    if (event === "ping") return "a ping of Swiftcrate";
    const isUnwanted = event === "parcel.scanned" && settings["scans"] !== true;
    return isUnwanted ? "a scan on the way; hooks.swiftcrate.scans takes them" : undefined;
  },

  message: ({ event, payload }) =>
    messageOf(
      `Parcel ${textAt(payload, "parcel.number")} ${headlines.get(event ?? "") ?? "has news"}.`,
      labeled("From", textAt(payload, "parcel.from")),
      labeled("To", textAt(payload, "parcel.to")),
      labeled("Where", textAt(payload, "place")),
      labeled("Reason", textAt(payload, "reason")),
      textAt(payload, "parcel.url"),
    ),
  mapping: { name: "Swiftcrate", wakeMode: "next-heartbeat" },

  samples,
  setup: [
    "In Swiftcrate open Account, Notifications, and add {url}.",
    "Copy the {secret} into hooks.swiftcrate.secret.",
  ],
});
