import { describe, expect, it } from "vitest";
import { compileHandshakes } from "../../../../src/auth/handshake/handshake.ts";
import { NO_KEYS } from "../../../../src/auth/keys/remote-keys.ts";
import { awsSns } from "../../../../src/presets/senders/aws-sns/aws-sns.ts";
import { NOW, readSample } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";

const TOPIC = "arn:aws:sns:eu-central-1:123456789012:alerts";
const SETTINGS = { topicArns: [TOPIC] };

const reading = (payload: object, settings: object = SETTINGS) =>
  readSample(awsSns, { payload: { Type: "Notification", TopicArn: TOPIC, ...payload } }, { ...settings });

/** The first lines of what is said of a message. */
const linesOf = (message: unknown, count = 9) =>
  reading({ Message: JSON.stringify(message) })
    .message.split("\n")
    .slice(0, count);

describe("the preset aws-sns", () => {
  itReadsSamples(
    awsSns,
    {
      text: {
        event: "Notification",
        deliveryId: "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
        answer: {
          status: 200,
        },
        message: [
          "SNS: Backup finished",
          "The backup of shop-db has finished.",
          "Topic: arn:aws:sns:eu-central-1:123456789012:alerts",
          "Message id: 22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
        ],
      },
      alarm: {
        event: "alarm.ALARM",
        deliveryId: "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
        answer: {
          status: 200,
        },
        message: [
          'Alarm "High CPU of web" is ALARM after OK, EU (Frankfurt)',
          "CPU above 90 % for 5 minutes.",
          "Reason: Threshold Crossed: 1 datapoint [97.2] was greater than the threshold (90.0).",
          "Metric: AWS/EC2 CPUUtilization",
          "Since: 2026-11-20T11:59:55.000+0000",
          "Topic: arn:aws:sns:eu-central-1:123456789012:alerts",
          "Message id: 22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
        ],
      },
      s3_object: {
        event: "s3.ObjectCreated:Put",
        deliveryId: "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
        sender: {
          name: "AWS:AIDAEXAMPLEADA",
          bot: false,
        },
        answer: {
          status: 200,
        },
        message: [
          "S3: ObjectCreated:Put example-invoices/2026/11/invoice 17.pdf, 18231 bytes",
          "Topic: arn:aws:sns:eu-central-1:123456789012:alerts",
          "Message id: 22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
        ],
      },
      eventbridge: {
        event: "EC2 Instance State-change Notification",
        deliveryId: "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
        answer: {
          status: 200,
        },
        message: [
          "EC2 Instance State-change Notification of aws.ec2, eu-central-1",
          "Resource: arn:aws:ec2:eu-central-1:123456789012:instance/i-0123456789abcdef0",
          "instance-id: i-0123456789abcdef0",
          "state: stopped",
          "Topic: arn:aws:sns:eu-central-1:123456789012:alerts",
          "Message id: 22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
        ],
      },
      ses_mail: {
        event: "mail.received",
        deliveryId: "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
        sender: { name: "Ada Byron", id: "ada@example.com", bot: false, unproven: true },
        answer: { status: 200 },
        message: [
          "New mail from Ada Byron <ada@example.com>: Re: Your order 1007",
          "To: support@in.example.com",
          "Message id: <CAF=ada-2@mail.example.com>",
          "In reply to: <order-1007@shop.example.com>",
          "Checks: SPF pass, DKIM pass, DMARC gray, spam check pass, virus check pass",
          "Attachment: receipt.pdf (application/pdf, 8 bytes)",
          "Where is it, café?",
          "SES id: d6iitobk75ur44p8kdnnp7g2n800",
          "Topic: arn:aws:sns:eu-central-1:123456789012:alerts",
        ],
      },
      ses_bounce: {
        event: "ses.Bounce",
        deliveryId: "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
        answer: {
          status: 200,
        },
        message: [
          'SES: Bounce of the mail "Your order"',
          "Kind: Permanent General",
          "To: ada@example.com, smtp; 550 5.1.1 user unknown",
          "From: shop@example.com",
          "Mail id: 0107018f-example",
          "Topic: arn:aws:sns:eu-central-1:123456789012:alerts",
          "Message id: 22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
        ],
      },
    },
    SETTINGS,
  );
});

describe("the topics of SNS", () => {
  it("that are taken are required of every verified message", () => {
    expect(awsSns.auth(SETTINGS).require).toEqual({ "body:TopicArn": [TOPIC] });
  });

  it("are none when none is set", () => {
    expect(awsSns.auth({}).require).toEqual({ "body:TopicArn": ["none"] });
    expect(awsSns.settings).toMatchObject({ required: ["topicArns"] });
  });
});

describe("messages of SNS", () => {
  it("hold their text as JSON where it is JSON", () => {
    expect(awsSns.unwrap({ Message: '{"a":[1]}' })).toEqual({ Message: { a: [1] } });
    expect(awsSns.unwrap({ Message: "{broken" })).toEqual({ Message: "{broken" });
    expect(awsSns.unwrap({ Message: "42" })).toEqual({ Message: "42" });
  });

  it("list the keys of JSON that is not known", () => {
    expect(linesOf({ order: 17, note: null }, 2)).toEqual(["SNS: new message", "order: 17"]);
  });

  it("are skipped when S3 only tries the topic", () => {
    expect(reading({ Message: '{"Service":"Amazon S3","Event":"s3:TestEvent"}' }).skip).toBe("it is a test of S3");
  });

  it("are skipped when SES only tries the topic", () => {
    const Message = JSON.stringify({
      notificationType: "AmazonSnsSubscriptionSucceeded",
      message: "You have successfully subscribed your Amazon SNS topic to receive 'Bounce' notifications.",
    });
    expect(reading({ Message }).skip).toBe("it is a test of SES");
  });

  it("are events of the developer tools as well, which write the type together", () => {
    const event = { detailType: "CodePipeline Pipeline Execution State Change", source: "aws.codepipeline" };
    const Message = JSON.stringify({ ...event, region: "eu-central-1", detail: { pipeline: "app", state: "FAILED" } });
    expect(reading({ Message })).toMatchObject({
      event: "CodePipeline Pipeline Execution State Change",
      message: expect.stringMatching(
        /^CodePipeline Pipeline Execution State Change of aws.codepipeline, eu-central-1\npipeline: app\nstate: FAILED\n/,
      ),
    });
  });

  it("report the end of a subscription", () => {
    expect(reading({ Type: "UnsubscribeConfirmation", Message: "You have chosen to deactivate", Token: "t" })).toEqual({
      event: "UnsubscribeConfirmation",
      deliveryId: undefined,
      sender: undefined,
      skip: undefined,
      answer: { status: 200 },
      message: [
        "SNS: the subscription of this gateway was removed",
        `Topic: ${TOPIC}`,
        "If that was a mistake, subscribe again with aws sns subscribe.",
      ].join("\n"),
    });
  });

  it("are skipped when they ask for a confirmation and were not taken as a handshake", () => {
    expect(reading({ Type: "SubscriptionConfirmation" }).skip).toBe("it only asks to confirm a subscription");
  });
});

describe("what AWS services send through SNS", () => {
  it("is the object of S3, also when its key is no valid escape", () => {
    const record = {
      eventSource: "aws:s3",
      eventName: "ObjectRemoved:Delete",
      s3: { bucket: { name: "b" }, object: { key: "100%" } },
    };
    expect(linesOf({ Records: [record] }, 1)).toEqual(["S3: ObjectRemoved:Delete b/100%"]);
  });

  it("is every object of several", () => {
    const records = ["a", "b"].map((key) => ({
      eventSource: "aws:s3",
      eventName: "ObjectCreated:Put",
      s3: { object: { key } },
    }));
    expect(linesOf({ Records: [...records, null] }, 3)).toEqual([
      "S3: ObjectCreated:Put a",
      "S3: ObjectCreated:Put b",
      "S3: changed",
    ]);
  });

  it("is an alarm with nothing but its name and state", () => {
    expect(linesOf({ AlarmName: "a", NewStateValue: "OK" }, 1)).toEqual(['Alarm "a" is OK']);
  });

  it("is a complaint of SES", () => {
    const mail = { messageId: "m" };
    const complaint = { complainedRecipients: [{ emailAddress: "ada@example.com" }] };
    expect(linesOf({ eventType: "Complaint", mail, complaint }, 3)).toEqual([
      "SES: Complaint",
      "To: ada@example.com",
      "Mail id: m",
    ]);
  });

  it("is an event of EventBridge without a detail", () => {
    expect(linesOf({ "detail-type": "Scheduled Event", source: "aws.events" }, 1)).toEqual([
      "Scheduled Event of aws.events",
    ]);
  });

  it.each<[string, object]>([
    ["a record of another service", { Records: [{ eventSource: "aws:ses", eventName: "x" }] }],
    ["an alarm without a state", { AlarmName: "a" }],
    ["a detail without a source", { "detail-type": "x" }],
    ["an event without a mail", { eventType: "Bounce" }],
  ])("is not known of %s", (_, message) => {
    expect(reading({ Message: JSON.stringify(message) })).toMatchObject({ event: "Notification" });
    expect(linesOf(message, 1)).toEqual(["SNS: new message"]);
  });
});

describe("the confirmation of a subscription", () => {
  const URL = "https://sns.eu-central-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=t&Token=2336412f37";

  function bench() {
    const fetched: string[] = [];
    const confirm = (url: string) => Promise.resolve(fetched.push(url) > 0);
    const handshakes = compileHandshakes(awsSns.handshakes, {
      route: "aws-sns",
      secrets: [],
      settings: SETTINGS,
      publicUrl: undefined,
      ...NO_KEYS,
      remoteKeys: { ...NO_KEYS.remoteKeys, confirm },
    });
    const call = (payload: object) => ({
      method: "POST",
      target: "/hooks/aws-sns",
      headers: { "content-type": "text/plain; charset=UTF-8", "x-amz-sns-message-type": "SubscriptionConfirmation" },
      body: Buffer.from(
        JSON.stringify({ Type: "SubscriptionConfirmation", TopicArn: TOPIC, SubscribeURL: URL, ...payload }),
      ),
      receivedAt: NOW,
      pathSecret: undefined,
    });
    return { handshakes, call, fetched };
  }

  it("fetches the URL at AWS and answers 200", async () => {
    const { handshakes, call, fetched } = bench();
    expect((await handshakes.verified(call({})))?.answer.status).toBe(200);
    expect(fetched).toEqual([URL]);
  });

  it("needs a signature", async () => {
    const { handshakes, call, fetched } = bench();
    expect(await handshakes.unverified(call({}))).toBeUndefined();
    expect(fetched).toEqual([]);
  });

  it.each<[string, object]>([
    ["of a topic that is not taken", { TopicArn: "arn:aws:sns:eu-central-1:999999999999:alerts" }],
    ["at another host", { SubscribeURL: "https://sns.eu-central-1.amazonaws.com.example.com/" }],
    ["at a bucket of AWS", { SubscribeURL: "https://sns.s3.eu-central-1.amazonaws.com/" }],
    ["without TLS", { SubscribeURL: URL.replace("https", "http") }],
    ["that ends a subscription", { Type: "UnsubscribeConfirmation" }],
  ])("fetches nothing for a message %s", async (_, changes) => {
    const { handshakes, call, fetched } = bench();
    expect(await handshakes.verified(call(changes))).toBeUndefined();
    expect(fetched).toEqual([]);
  });
});

describe("a mail that SES received", () => {
  const received = (more: object) => {
    const payload = {
      Message: { notificationType: "Received", mail: { messageId: "m1", source: "a@example.com" }, ...more },
    };
    return readSample(awsSns, { payload }, SETTINGS).message;
  };

  it("is read from base64 when its rule encodes it so", () => {
    const content = Buffer.from("From: Ada <ada@example.com>\r\nTo: b@example.com\r\n\r\nHello").toString("base64");
    expect(received({ content, receipt: { action: { encoding: "BASE64" } } })).toBe(
      "New mail from Ada <ada@example.com>\nTo: b@example.com\nHello\nSES id: m1",
    );
  });

  it("is where its rule has put it when the notification has no text", () => {
    expect(received({ receipt: { action: { type: "S3", bucketName: "mails", objectKey: "in/m1" } } })).toBe(
      "New mail from a@example.com\nIts text is in S3: mails/in/m1\nSES id: m1",
    );
    expect(received({})).toContain("Its text is not in the notification.");
  });
});
