/** Secrets of examples and habits, in lower case and without punctuation. */
const OF_EXAMPLES = [
  "admin",
  "changeit",
  "changeme",
  "changemeplease",
  "default",
  "example",
  "exampletoken",
  "hooksecret",
  "hookssecret",
  "hookstoken",
  "hooktoken",
  "letmein",
  "mysecret",
  "mysecrettoken",
  "mytoken",
  "none",
  "null",
  "openclawhookstoken",
  "openclawhooktoken",
  "password",
  "placeholder",
  "replaceme",
  "replacewithyourtoken",
  "secret",
  "secrethere",
  "secrettoken",
  "sharedsecret",
  "test",
  "testtoken",
  "token",
  "tokenhere",
  "undefined",
  "webhooksecret",
  "webhooktoken",
  "yourhooksecret",
  "yourhooktoken",
  "yoursecret",
  "yoursecrethere",
  "yoursecrettoken",
  "yoursecrettokenhere",
  "yourtoken",
  "yourtokenhere",
  "yourwebhooksecret",
];

/** Secrets that senders, standards and their SDKs print in their documentation, as they stand there. */
const OF_DOCUMENTATION = [
  // GitHub and its SDK.
  "It's a Secret to Everybody",
  "mysecret",
  // Slack.
  "8f742231b10e8888abcd99yyyzzz85a5",
  // Standard Webhooks and Svix.
  "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
  "whsec_plJ3nmyCDGBKInavdOK15jsl",
  // Stripe and its SDK.
  "whsec_test_secret",
  "whsec_test",
  // Zendesk's test requests.
  "dGhpc19zZWNyZXRfaXNfZm9yX3Rlc3Rpbmdfb25seQ==",
  // Twilio.
  "12345",
  "12345678901234567890123456789012",
  "0123456789abcdef0123456789abcdef",
];

const KNOWN: ReadonlySet<string> = new Set([...OF_EXAMPLES, ...OF_DOCUMENTATION].map(plain));

/**
 * True for a secret that everybody knows: of an example, of a sender's documentation or one of `further`.
 * Case, punctuation and a prefix such as `whsec_` do not count.
 */
export function isKnownSecret(value: string, further: readonly string[] = []): boolean {
  const written = plain(value);
  return KNOWN.has(written) || further.some((other) => plain(other) === written);
}

function plain(value: string): string {
  const letters = value.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
  // A secret of punctuation alone is compared as it is.
  return letters === "" ? value : letters.replace(/^whsec(?=.)/, "");
}
