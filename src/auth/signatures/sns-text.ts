const CONFIRMATION = ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"] as const;

const FIELDS: Readonly<Record<string, readonly string[]>> = {
  Notification: ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"],
  SubscriptionConfirmation: CONFIRMATION,
  UnsubscribeConfirmation: CONFIRMATION,
};

/**
 * The text that AWS SNS signs: `Key\nValue\n` for each signed field of the message. `undefined` when a
 * field is missing (only `Subject` may be) or is no text, or the type is unknown.
 * Source: docs.aws.amazon.com/sns, "Verifying the signatures of Amazon SNS messages".
 */
export function snsText(payload: unknown): string | undefined {
  const type = field(payload, "Type");
  if (typeof type !== "string" || !Object.hasOwn(FIELDS, type)) return undefined;
  let text = "";
  for (const key of FIELDS[type]!) {
    const value = field(payload, key);
    if (key === "Subject" && value === undefined) continue;
    if (typeof value !== "string") return undefined;
    text += `${key}\n${value}\n`;
  }
  return text;
}

function field(payload: unknown, key: string): unknown {
  if (typeof payload !== "object" || payload === null || !Object.hasOwn(payload, key)) return undefined;
  return (payload as Readonly<Record<string, unknown>>)[key];
}
