import { itemLines, joinText, labeled, listAt, textAt, valueAt } from "../../../core/payload-text.ts";
import type { EventActor } from "../../preset.ts";
import { dataLines } from "../../message/data-lines.ts";
import { headline, lineAt, phrase } from "../../message/headline.ts";
import { receivedMail } from "./ses-mail.ts";

/** The message of an AWS service that publishes to a topic or a bus. */
export interface AwsNotification {
  /** `alarm.ALARM`, `s3.ObjectCreated:Put`, `ses.Bounce`, `mail.received`, or what EventBridge calls it. */
  readonly event: string;
  readonly lines: readonly string[];
  /** The author of the mail that SES received. */
  readonly actor?: EventActor | undefined;
}

/** Reads the JSON of CloudWatch alarms, S3, EventBridge and SES; `undefined` for anything else. */
export function awsNotification(message: unknown): AwsNotification | undefined {
  return alarm(message) ?? objects(message) ?? busEvent(message) ?? mail(message);
}

function alarm(message: unknown): AwsNotification | undefined {
  const name = lineAt(message, "AlarmName");
  const state = lineAt(message, "NewStateValue");
  if (name === "" || state === "") return undefined;
  const change = headline(`Alarm "${name}" is`, state, phrase("after", lineAt(message, "OldStateValue")));
  return {
    event: `alarm.${state}`,
    lines: [
      joinText(", ", change, lineAt(message, "Region")),
      textAt(message, "AlarmDescription"),
      labeled("Reason", textAt(message, "NewStateReason")),
      labeled("Metric", headline(textAt(message, "Trigger.Namespace"), textAt(message, "Trigger.MetricName"))),
      labeled("Since", textAt(message, "StateChangeTime")),
    ],
  };
}

function objects(message: unknown): AwsNotification | undefined {
  const records = listAt(message, "Records");
  const event = lineAt(records[0], "eventName");
  if (textAt(records[0], "eventSource") !== "aws:s3" || event === "") return undefined;
  return { event: `s3.${event}`, lines: itemLines(records, objectLine) };
}

function objectLine(record: unknown): string {
  const size = lineAt(record, "s3.object.size");
  return headline(
    `S3: ${lineAt(record, "eventName") || "changed"}`,
    joinText(
      ", ",
      joinText("/", lineAt(record, "s3.bucket.name"), keyText(lineAt(record, "s3.object.key"))),
      size === "" ? "" : `${size} bytes`,
    ),
  );
}

/** Keys are written as in a form: spaces as `+`. */
function keyText(key: string): string {
  try {
    return decodeURIComponent(key.replaceAll("+", " "));
  } catch {
    return key;
  }
}

function busEvent(message: unknown): AwsNotification | undefined {
  // Notification rules of CodePipeline and its like write it together.
  const event = lineAt(message, "detail-type", "detailType");
  const source = lineAt(message, "source");
  if (event === "" || source === "") return undefined;
  return {
    event,
    lines: [
      joinText(", ", `${event} of ${source}`, lineAt(message, "region")),
      ...itemLines(listAt(message, "resources"), (resource) => labeled("Resource", textAt(resource, "")), 5),
      ...dataLines(valueAt(message, "detail")),
    ],
  };
}

function mail(message: unknown): AwsNotification | undefined {
  const event = lineAt(message, "notificationType", "eventType");
  if (event === "" || textAt(message, "mail.messageId") === "") return undefined;
  if (event === "Received") return { event: "mail.received", ...receivedMail(message) };
  const bounced = listAt(message, "bounce.bouncedRecipients");
  const complained = listAt(message, "complaint.complainedRecipients");
  const kind = headline(textAt(message, "bounce.bounceType"), textAt(message, "bounce.bounceSubType"));
  return {
    event: `ses.${event}`,
    lines: [
      joinText(" of the mail ", `SES: ${event}`, quoted(lineAt(message, "mail.commonHeaders.subject"))),
      labeled("Kind", kind),
      ...itemLines([...bounced, ...complained], (recipient) =>
        labeled("To", joinText(", ", textAt(recipient, "emailAddress"), textAt(recipient, "diagnosticCode"))),
      ),
      labeled("From", textAt(message, "mail.source")),
      labeled("Mail id", textAt(message, "mail.messageId")),
    ],
  };
}

function quoted(text: string): string {
  return text === "" ? "" : `"${text}"`;
}
