import { sign } from "node:crypto";
import { EventEmitter } from "node:events";
import https from "node:https";
import MessageValidator from "sns-validator";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { awsSns } from "../../src/presets/senders/aws-sns/aws-sns.ts";
import { NOW, receivedCall, signSample, verifyCall } from "../../src/testing/preset-probe.ts";
import type { ProbeOptions } from "../../src/testing/preset-probe.ts";
import { makeRsaCertificate } from "../unit/auth/keys/make-certificate.ts";
import { fixedKey } from "./fixed-keys.ts";
import { recordVectors } from "./record-vectors.ts";

const { pem, key } = makeRsaCertificate({ commonName: "sns.amazonaws.com", key: fixedKey("rsa") });
const CERT_URL =
  "https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem";
const TOPIC = "arn:aws:sns:eu-central-1:123456789012:alerts";

type Message = Readonly<Record<string, string>>;

const NOTIFICATION: Message = {
  Type: "Notification",
  MessageId: "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
  TopicArn: TOPIC,
  Subject: "Grüße 🚀",
  Message: 'Zwei\nZeilen, "quoted"',
  Timestamp: new Date(NOW).toISOString(),
  SignatureVersion: "2",
  SigningCertURL: CERT_URL,
};

const { Subject: _subject, ...WITHOUT_SUBJECT } = NOTIFICATION;

const CONFIRMATION: Message = {
  ...WITHOUT_SUBJECT,
  Type: "SubscriptionConfirmation",
  Token: "2336412f37fb687f5d51e6e2425f004a",
  SubscribeURL: "https://sns.eu-central-1.amazonaws.com/?Action=ConfirmSubscription&Token=2336412f37",
};

/** What AWS documents: `Key\nValue\n` of the signed fields in order of their bytes; made without our code. */
function signed(message: Message, fields: readonly string[] = signedFieldsOf(message), privateKey = key): Message {
  const text = fields
    .filter((field) => field in message)
    .map((field) => `${field}\n${message[field]}\n`)
    .join("");
  const hash = message["SignatureVersion"] === "1" ? "sha1" : "sha256";
  return { ...message, Signature: sign(hash, Buffer.from(text), privateKey).toString("base64") };
}

function signedFieldsOf({ Type }: Message): readonly string[] {
  return Type === "Notification"
    ? ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"]
    : ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"];
}

/** The certificate is at the URL that the SDK and we are told; nothing else is anywhere. */
const certificateAt = (url: string): string | undefined =>
  /^https:\/\/sns\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?\//.test(url) ? pem : undefined;
const recorder = recordVectors(awsSns, "sns-validator", { fetch: certificateAt });
const bench: ProbeOptions = { settings: { topicArns: [TOPIC] }, remoteKeys: { certificate: certificateAt } };

const call = (message: object, receivedAt = NOW) =>
  receivedCall(
    {
      url: "https://gateway.example.com/hooks/aws-sns",
      headers: { "content-type": "text/plain; charset=UTF-8" },
      body: Buffer.from(JSON.stringify(message)),
    },
    { receivedAt },
  );

/** The SDK remembers a certificate by its URL, and otherwise fetches it over https. */
function sdkAccepts(message: object): Promise<boolean> {
  return new Promise((resolve) => {
    new MessageValidator().validate({ ...message }, (error) => resolve(error === null));
  });
}

const bothSay = (message: object, receivedAt = NOW, topicArns: readonly string[] = [TOPIC]) =>
  recorder.judge(call(message, receivedAt), { settings: { topicArns } }, () => sdkAccepts(message));

beforeEach(() => {
  // The SDK has no way to be given a certificate but to fetch it.
  vi.spyOn(https, "get").mockImplementation(((url: string, answer: (response: EventEmitter) => void) => {
    const certificate = certificateAt(url);
    const response = Object.assign(new EventEmitter(), { statusCode: certificate === undefined ? 404 : 200 });
    queueMicrotask(() => {
      answer(response);
      if (certificate !== undefined) response.emit("data", Buffer.from(certificate));
      response.emit("end");
    });
    return new EventEmitter();
  }) as typeof https.get);
});

describe("what the SDK of Amazon SNS says", () => {
  it.each(["1", "2"])("is accepted when it is signed as documented, version %s", async (SignatureVersion) => {
    for (const message of [NOTIFICATION, WITHOUT_SUBJECT, CONFIRMATION]) {
      expect(await bothSay(signed({ ...message, SignatureVersion }))).toEqual({ we: true, sdk: true });
    }
  });

  it.each(Object.entries(awsSns.samples))("is that the sample %s is signed right", async (_, sample) => {
    const { body } = signSample(awsSns, sample, { ...bench, key });
    expect(await bothSay(JSON.parse(Buffer.from(body).toString()) as object)).toEqual({ we: true, sdk: true });
  });

  it("is accepted from the regions of China for a topic there", async () => {
    const TopicArn = "arn:aws-cn:sns:cn-north-1:123456789012:alerts";
    const SigningCertURL = CERT_URL.replace("eu-central-1.amazonaws.com", "cn-north-1.amazonaws.com.cn");
    const message = signed({ ...NOTIFICATION, TopicArn, SigningCertURL });
    expect(await bothSay(message, NOW, [TopicArn])).toEqual({ we: true, sdk: true });
  });

  it("is refused by us when its certificate is that of another region, or in a bucket named like SNS", async () => {
    for (const host of ["sns.us-east-1.amazonaws.com", "sns.s3.amazonaws.com"]) {
      const SigningCertURL = CERT_URL.replace("sns.eu-central-1.amazonaws.com", host);
      expect(await bothSay(signed({ ...NOTIFICATION, SigningCertURL }))).toMatchObject({ we: false });
    }
  });

  it.each<[string, Message]>([
    ["another text", { Message: "other" }],
    ["another topic", { TopicArn: "arn:aws:sns:eu-central-1:123456789012:other" }],
    ["another subject", { Subject: "other" }],
    ["another id", { MessageId: "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf325" }],
    ["another version of the signature", { SignatureVersion: "1" }],
    ["a version that does not exist", { SignatureVersion: "3" }],
    ["no text as signature", { Signature: "" }],
    ["another signature", { Signature: Buffer.alloc(256).toString("base64") }],
    ["a certificate at another host", { SigningCertURL: "https://sns.example.com/a.pem" }],
    ["a certificate at a look-alike", { SigningCertURL: "https://sns.eu-central-1.amazonaws.com.example.com/a.pem" }],
    ["a certificate without TLS", { SigningCertURL: CERT_URL.replace("https", "http") }],
    ["a certificate in a bucket", { SigningCertURL: "https://sns.s3.amazonaws.com.evil.example/a.pem" }],
  ])("is refused by both with %s", async (_, changes) => {
    expect(await bothSay({ ...signed(NOTIFICATION), ...changes })).toEqual({ we: false, sdk: false });
  });

  it("is refused by us when another topic's message is signed right: anybody at AWS can have one signed", async () => {
    const message = signed({ ...NOTIFICATION, TopicArn: "arn:aws:sns:eu-central-1:999999999999:alerts" });
    expect(await bothSay(message)).toEqual({ we: false, sdk: true });
  });

  it("is refused by both when another key signs", async () => {
    const message = signed(NOTIFICATION, signedFieldsOf(NOTIFICATION), fixedKey("another-rsa"));
    expect(await bothSay(message)).toEqual({ we: false, sdk: false });
  });

  it.each(["Message", "MessageId", "Timestamp", "TopicArn", "Type", "Signature", "SigningCertURL", "SignatureVersion"])(
    "is refused by both without %s",
    async (field) => {
      const { [field]: _, ...rest } = signed(NOTIFICATION);
      expect(await bothSay(rest)).toEqual({ we: false, sdk: false });
    },
  );

  it("is refused by both for raw delivery, which is unsigned", async () => {
    expect(await bothSay({ order: 17 })).toEqual({ we: false, sdk: false });
  });

  it("is refused by us alone when the message is older than 90 minutes, or of the future", async () => {
    const message = signed(NOTIFICATION);
    expect(await bothSay(message, NOW + 5_400_000)).toEqual({ we: true, sdk: true });
    expect(await bothSay(message, NOW + 5_400_001)).toEqual({ we: false, sdk: true });
    expect(await bothSay(message, NOW - 3_600_001)).toEqual({ we: false, sdk: true });
  });

  it("is refused by both when a notification is called a confirmation", async () => {
    const forged = { ...signed(NOTIFICATION), Token: "t", SubscribeURL: "https://example.com/" };
    expect(await bothSay({ ...forged, Type: "SubscriptionConfirmation" })).toEqual({ we: false, sdk: false });
  });

  it("is refused by us alone for a type that AWS does not document", async () => {
    const message = signed({ ...NOTIFICATION, Type: "Other" }, signedFieldsOf(NOTIFICATION));
    expect(await bothSay(message)).toEqual({ we: false, sdk: true });
  });

  it("is not what AWS documents of the end of a subscription: its token is signed", async () => {
    const message = signed({ ...CONFIRMATION, Type: "UnsubscribeConfirmation" });
    expect(await bothSay(message)).toEqual({ we: true, sdk: false });
  });

  it("is accepted a second time, which we recognize", async () => {
    const message = signed(NOTIFICATION);
    const markOf = async (copy: object) => {
      const verification = await verifyCall(awsSns, call(copy), bench);
      return verification.ok ? verification.replay?.digest : undefined;
    };
    expect([await sdkAccepts(message), await sdkAccepts(message)]).toEqual([true, true]);
    expect(await markOf(message)).toHaveLength(32);
    expect(await markOf({ ...message, UnsubscribeURL: "https://example.com/" })).toEqual(await markOf(message));
    expect(await markOf(signed({ ...NOTIFICATION, MessageId: "next" }))).not.toEqual(await markOf(message));
  });
});

describe("a certificate that SNS names", () => {
  it("must be valid at the time of the message", async () => {
    const expired = makeRsaCertificate({ commonName: "sns.amazonaws.com", validTo: "261119000000Z" });
    const message = signed(NOTIFICATION, signedFieldsOf(NOTIFICATION), expired.key);
    const options = { ...bench, remoteKeys: { certificate: () => expired.pem } };
    expect(await verifyCall(awsSns, call(message), options)).toMatchObject({ ok: false });
  });

  it("lets SNS try again when it cannot be fetched now", async () => {
    const options = { ...bench, remoteKeys: { certificate: () => undefined } };
    expect(await verifyCall(awsSns, call(signed(NOTIFICATION)), options)).toMatchObject({
      ok: false,
      retryAfterSeconds: expect.any(Number) as number,
    });
  });
});
