import Type from "typebox";
import { definePreset } from "../../define-preset.ts";
import { embeddedPayload } from "../../embedded-payload.ts";
import { eventActor } from "../../event-fields.ts";
import { labeled, messageOf, textAt, valueAt } from "../../../core/payload-text.ts";
import type { PresetSettings } from "../../../config/preset.ts";
import type { PresetSample } from "../../preset.ts";
import { dataLines } from "../../message/data-lines.ts";
import { awsNotification } from "./aws-notification.ts";

const HOSTS = ["sns.*.amazonaws.com", "sns.*.amazonaws.com.cn"];
/** Other paths of the same hosts only cost a fetch. */
const CERTIFICATE_PATH = `/SimpleNotificationService-${"#".repeat(32)}.pem`;
const TOPIC = "arn:aws:sns:eu-central-1:123456789012:alerts";

/** A message has up to 256 KiB, which JSON within JSON can more than double. */
const MAX_BODY_BYTES = 1_048_576;

/** SNS tries again for 3,600 seconds at most, with the first `Timestamp`; the last try may then take a while. */
const TOLERANCE_SECONDS = 5_400;

/** The content type of SNS, whatever the body is. */
function notification(message: unknown, more: Readonly<Record<string, string>> = {}): PresetSample {
  const type = more["Type"] ?? "Notification";
  const id = "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324";
  return {
    headers: {
      "content-type": "text/plain; charset=UTF-8",
      "x-amz-sns-message-type": type,
      "x-amz-sns-message-id": id,
      "x-amz-sns-topic-arn": TOPIC,
    },
    payload: {
      Type: type,
      MessageId: id,
      TopicArn: TOPIC,
      Message: typeof message === "string" ? message : JSON.stringify(message),
      Timestamp: "2026-11-20T12:00:00.000Z",
      SignatureVersion: "2",
      SigningCertURL:
        "https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-00000000000000000000000000000000.pem",
      ...more,
    },
  };
}

/**
 * Messages of Amazon SNS topics to an HTTPS subscription, signed with RSA over a canonical text. Messages
 * of topics that `topicArns` does not name are refused, and their subscriptions never confirmed: anyone
 * with an account at AWS can have SNS sign a message. Raw delivery carries no signature and is refused.
 */
export const awsSns = definePreset({
  name: "aws-sns",
  title: "Amazon SNS",
  documentation: "https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html",
  auth: (settings) => ({
    scheme: "signature",
    from: "body:Signature",
    encoding: "base64",
    algorithm: { from: "body:SignatureVersion", values: { "1": "rsa-sha1", "2": "rsa-sha256" } },
    content: "{sns}",
    certificate: { from: "body:SigningCertURL", hosts: certificateHosts(settings), path: CERTIFICATE_PATH },
    timestamp: { from: "body:Timestamp", unit: "iso8601", toleranceSeconds: TOLERANCE_SECONDS, futureSeconds: 3_600 },
    require: { "body:TopicArn": topicsIn(settings) },
  }),
  settings: Type.Object(
    {
      topicArns: Type.Array(Type.String({ pattern: "^arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:.+$", maxLength: 512 }), {
        minItems: 1,
        maxItems: 100,
        title: "a list of ARNs of topics",
        description: "Topics whose messages and subscriptions are taken.",
      }),
    },
    { additionalProperties: false },
  ),
  handshakes: [
    {
      name: "SubscriptionConfirmation",
      verified: true,
      when: { "body:Type": "SubscriptionConfirmation", "body:TopicArn": { setting: "topicArns" } },
      reply: { status: 200 },
      effect: { confirmUrlFrom: "body:SubscribeURL", confirmHosts: HOSTS },
    },
  ],
  event: ({ payload }) => awsNotification(valueAt(payload, "Message"))?.event ?? (textAt(payload, "Type") || undefined),
  eventWhere: "the event in Message, or Type",
  deliveryId: { from: "body:MessageId", signed: true },
  sender({ payload }) {
    const name = textAt(payload, "Message.Records[0].userIdentity.principalId");
    return eventActor(name) ?? awsNotification(valueAt(payload, "Message"))?.actor;
  },
  vouchesForActors: true,
  unwrap(payload) {
    const message = valueAt(payload, "Message");
    return typeof message === "string" ? { ...(payload as object), Message: embeddedPayload(message) } : payload;
  },
  skip(context) {
    // An unconfirmed subscription is no event; it comes here when it is not taken as a handshake.
    if (textAt(context.payload, "Type") === "SubscriptionConfirmation") return "it only asks to confirm a subscription";
    const service = textAt(context.payload, "Message.notificationType");
    if (service === "AmazonSnsSubscriptionSucceeded") return "it is a test of SES";
    return textAt(context.payload, "Message.Event") === "s3:TestEvent" ? "it is a test of S3" : undefined;
  },
  answer: { status: 200 },
  mapping: { name: "SNS", maxBodyBytes: MAX_BODY_BYTES },
  message({ payload }) {
    const topic = textAt(payload, "TopicArn");
    if (textAt(payload, "Type") === "UnsubscribeConfirmation") {
      return messageOf(
        "SNS: the subscription of this gateway was removed",
        labeled("Topic", topic),
        "If that was a mistake, subscribe again with aws sns subscribe.",
      );
    }
    return messageOf(
      messageLines(payload),
      labeled("Topic", topic),
      // A mail has a message id of its own, which a reply needs.
      textAt(payload, "Message.notificationType") === "Received"
        ? ""
        : labeled("Message id", textAt(payload, "MessageId")),
    );
  },
  success: {
    statuses: "2xx",
    otherwise:
      "429 and 5xx: tries again by the delivery policy of the subscription, for an hour at most; other 4xx: gives up",
  },
  ignored: "requests to confirm a subscription, the test events of S3 and SES. SNS marks no bots",
  samples: {
    text: notification("The backup of shop-db has finished.", { Subject: "Backup finished" }),
    alarm: notification(
      {
        AlarmName: "High CPU of web",
        AlarmDescription: "CPU above 90 % for 5 minutes.",
        AWSAccountId: "123456789012",
        NewStateValue: "ALARM",
        OldStateValue: "OK",
        NewStateReason: "Threshold Crossed: 1 datapoint [97.2] was greater than the threshold (90.0).",
        StateChangeTime: "2026-11-20T11:59:55.000+0000",
        Region: "EU (Frankfurt)",
        AlarmArn: "arn:aws:cloudwatch:eu-central-1:123456789012:alarm:High CPU of web",
        Trigger: { MetricName: "CPUUtilization", Namespace: "AWS/EC2", Threshold: 90 },
      },
      { Subject: 'ALARM: "High CPU of web" in EU (Frankfurt)' },
    ),
    s3_object: notification({
      Records: [
        {
          eventVersion: "2.3",
          eventSource: "aws:s3",
          awsRegion: "eu-central-1",
          eventTime: "2026-11-20T11:59:58.000Z",
          eventName: "ObjectCreated:Put",
          userIdentity: { principalId: "AWS:AIDAEXAMPLEADA" },
          s3: { bucket: { name: "example-invoices" }, object: { key: "2026/11/invoice+17.pdf", size: 18_231 } },
        },
      ],
    }),
    eventbridge: notification({
      version: "0",
      id: "6a7e8feb-b491-4cf7-a9f1-bf3703467718",
      "detail-type": "EC2 Instance State-change Notification",
      source: "aws.ec2",
      account: "123456789012",
      time: "2026-11-20T11:59:58Z",
      region: "eu-central-1",
      resources: ["arn:aws:ec2:eu-central-1:123456789012:instance/i-0123456789abcdef0"],
      detail: { "instance-id": "i-0123456789abcdef0", state: "stopped" },
    }),
    ses_mail: notification(
      {
        notificationType: "Received",
        receipt: {
          timestamp: "2026-11-20T11:59:58.936Z",
          processingTimeMillis: 222,
          recipients: ["support@in.example.com"],
          spamVerdict: { status: "PASS" },
          virusVerdict: { status: "PASS" },
          spfVerdict: { status: "PASS" },
          dkimVerdict: { status: "PASS" },
          dmarcVerdict: { status: "GRAY" },
          action: { type: "SNS", topicArn: TOPIC, encoding: "UTF8" },
        },
        mail: {
          timestamp: "2026-11-20T11:59:58.936Z",
          source: "ada@example.com",
          messageId: "d6iitobk75ur44p8kdnnp7g2n800",
          destination: ["support@in.example.com"],
          headersTruncated: false,
          headers: [
            { name: "From", value: "Ada Byron <ada@example.com>" },
            { name: "To", value: "support@in.example.com" },
            { name: "Subject", value: "Re: Your order 1007" },
            { name: "Message-ID", value: "<CAF=ada-2@mail.example.com>" },
            { name: "In-Reply-To", value: "<order-1007@shop.example.com>" },
          ],
          commonHeaders: { from: ["Ada Byron <ada@example.com>"], subject: "Re: Your order 1007" },
        },
        content: [
          "From: Ada Byron <ada@example.com>",
          'Content-Type: multipart/mixed; boundary="b1"',
          "",
          "--b1",
          "Content-Type: text/plain; charset=UTF-8",
          "Content-Transfer-Encoding: quoted-printable",
          "",
          "Where is it, caf=C3=A9?",
          "--b1",
          'Content-Type: application/pdf; name="receipt.pdf"',
          "Content-Transfer-Encoding: base64",
          "",
          "JVBERi0xLjQ=",
          "--b1--",
        ].join("\r\n"),
      },
      { Subject: "Amazon SES Email Receipt Notification" },
    ),
    ses_bounce: notification({
      notificationType: "Bounce",
      mail: { messageId: "0107018f-example", source: "shop@example.com", commonHeaders: { subject: "Your order" } },
      bounce: {
        bounceType: "Permanent",
        bounceSubType: "General",
        bouncedRecipients: [{ emailAddress: "ada@example.com", diagnosticCode: "smtp; 550 5.1.1 user unknown" }],
      },
    }),
  },
  setup: [
    "Put the topic's ARN into hooks.aws-sns.topicArns and start the gateway, which confirms the subscription by itself.",
    "Subscribe: aws sns subscribe --topic-arn <arn> --protocol https --notification-endpoint {url}",
    "Leave raw message delivery off: raw messages carry no signature and are refused.",
    "Let SNS sign with SHA-256: aws sns set-topic-attributes --topic-arn <arn> --attribute-name SignatureVersion --attribute-value 2",
  ],
});

/**
 * The hosts of the topics' certificates. Not every host below amazonaws.com that begins with `sns` is that of
 * SNS: `sns.s3.amazonaws.com` belongs to anyone who has the bucket of that name.
 */
function certificateHosts({ topicArns }: PresetSettings): string[] {
  if (!Array.isArray(topicArns)) return HOSTS;
  const hosts = topicArns.map((arn) => {
    const [, partition, , region] = String(arn).split(":");
    return `sns.${region}.amazonaws.com${partition === "aws-cn" ? ".cn" : ""}`;
  });
  return [...new Set(hosts)];
}

/** Without the setting, which the schema requires, no topic is taken. */
function topicsIn({ topicArns }: PresetSettings): string[] {
  return Array.isArray(topicArns) ? topicArns.map(String) : ["none"];
}

function messageLines(payload: unknown): readonly string[] {
  const message = valueAt(payload, "Message");
  const known = awsNotification(message);
  if (known) return known.lines;
  const subject = textAt(payload, "Subject").replaceAll(/\s+/gu, " ");
  return [subject === "" ? "SNS: new message" : `SNS: ${subject}`, ...dataLines(message)];
}
