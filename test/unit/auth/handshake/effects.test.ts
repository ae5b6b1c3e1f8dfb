import { describe, expect, test } from "vitest";
import type { Handshake } from "../../../../src/config/handshake.ts";
import { answerTo, callOf, compile, confirming, content, empty, keyBox, ROUTE } from "./handshake-bench.ts";
import type { Sent } from "./handshake-bench.ts";

const KEY = "b537207f20cbfa02357cf448134da559";

const hookSecret: Handshake = {
  name: "X-Hook-Secret",
  verified: false,
  when: { "header:x-hook-secret": true },
  reply: { status: 200, headers: { "X-Hook-Secret": "{header:x-hook-secret}" } },
  effect: { keyFrom: "header:x-hook-secret" },
};
const notion: Handshake = {
  name: "verification_token",
  verified: false,
  when: { "body:verification_token": true },
  onlyKeys: ["verification_token"],
  reply: { status: 200 },
  effect: { keyFrom: "body:verification_token" },
};
const delivering = (key: string): Sent => ({ headers: { "x-hook-secret": key } });

describe("a key that the sender delivers", () => {
  test("is kept for its route before the answer is given", async () => {
    const deliveredKeys = keyBox();
    const answer = await answerTo(hookSecret, delivering(KEY), { secrets: [], deliveredKeys });
    expect(answer).toEqual({ name: "X-Hook-Secret", answer: empty(200, { "x-hook-secret": KEY }) });
    expect(deliveredKeys.get(ROUTE)).toBe(KEY);
  });

  test("is taken once: a second one is no handshake and changes nothing", async () => {
    const deliveredKeys = keyBox();
    const context = { secrets: [], deliveredKeys };
    await answerTo(notion, { json: { verification_token: KEY } }, context);
    expect(await answerTo(notion, { json: { verification_token: `${KEY}0` } }, context)).toBeUndefined();
    expect(await answerTo(notion, { json: { verification_token: KEY } }, context)).toBeUndefined();
    expect(deliveredKeys.get(ROUTE)).toBe(KEY);
  });

  test("is not taken by a route that has a secret", async () => {
    const deliveredKeys = keyBox();
    expect(await answerTo(hookSecret, delivering(KEY), { secrets: [KEY], deliveredKeys })).toBeUndefined();
    expect(deliveredKeys.get(ROUTE)).toBeUndefined();
  });

  test("comes alone", async () => {
    const deliveredKeys = keyBox();
    const json = { verification_token: KEY, type: "page.created" };
    expect(await answerTo(notion, { json }, { secrets: [], deliveredKeys })).toBeUndefined();
    expect(deliveredKeys.get(ROUTE)).toBeUndefined();
  });

  test.each(["k".repeat(16), "k".repeat(512)])("may have 16 to 512 characters: %s", async (key) => {
    expect(await answerTo(notion, { json: { verification_token: key } }, { secrets: [] })).toBeDefined();
  });

  test.each(["k".repeat(15), "k".repeat(513), `${"k".repeat(20)} k`, `${"k".repeat(20)}ä`, `${"k".repeat(20)}\n`])(
    "is refused when it is no key: %j",
    async (key) => {
      const deliveredKeys = keyBox();
      const context = { secrets: [], deliveredKeys };
      expect(await answerTo(notion, { json: { verification_token: key } }, context)).toBeUndefined();
      expect(deliveredKeys.get(ROUTE)).toBeUndefined();
    },
  );

  test("is not kept when the answer cannot be given", async () => {
    const deliveredKeys = keyBox();
    const both = { ...hookSecret, reply: { status: 200, text: "{body:challenge}" } };
    expect(await answerTo(both, delivering(KEY), { secrets: [], deliveredKeys })).toBeUndefined();
    expect(deliveredKeys.get(ROUTE)).toBeUndefined();
  });

  test("is nothing where there is none", async () => {
    const other: Handshake = { ...hookSecret, effect: { keyFrom: "header:x-other" } };
    expect(await answerTo(other, delivering(KEY), { secrets: [] })).toBeUndefined();
  });
});

const HOSTS = ["sns.*.amazonaws.com", "sns.*.amazonaws.com.cn", "Confirm.Example.org"];
const subscription: Handshake = {
  name: "SubscriptionConfirmation",
  verified: true,
  when: { "body:Type": "SubscriptionConfirmation" },
  reply: { status: 200 },
  effect: { confirmUrlFrom: "body:SubscribeURL", confirmHosts: HOSTS },
};
const confirmation = (url: unknown): Sent => ({ json: { Type: "SubscriptionConfirmation", SubscribeURL: url } });

describe("a URL that confirms", () => {
  test.each([
    ["https://sns.us-west-2.amazonaws.com/?Action=ConfirmSubscription&Token=23", undefined],
    ["https://sns.cn-north-1.amazonaws.com.cn/", undefined],
    ["https://SNS.us-west-2.amazonaws.com:443/x", "https://sns.us-west-2.amazonaws.com/x"],
    ["https://confirm.example.org/", undefined],
  ])("is fetched before the answer is given: %s", async (url, fetchedAs = url) => {
    const { fetched, remoteKeys } = confirming(true);
    const answer = await answerTo(subscription, confirmation(url), { remoteKeys });
    expect(answer).toEqual({ name: "SubscriptionConfirmation", answer: empty(200) });
    expect(fetched).toEqual([fetchedAs]);
  });

  test.each([
    "http://sns.us-west-2.amazonaws.com/",
    "ftp://sns.us-west-2.amazonaws.com/",
    "https://sns.us-west-2.amazonaws.com:8443/",
    "https://user@sns.us-west-2.amazonaws.com/",
    "https://:password@sns.us-west-2.amazonaws.com/",
    "https://amazonaws.com/",
    "https://sns.amazonaws.com/",
    "https://sns.a.b.amazonaws.com/",
    "https://sns..amazonaws.com/",
    "https://xsns.us-west-2.amazonaws.com/",
    "https://sns.us-west-2.amazonaws.com.evil.example/",
    "https://sns.us-west-2.amazonaws.community/",
    "https://sns.us-west-2xamazonaws.com/",
    "https://sns.us-west-2.amazonaws.com./",
    "https://evil.example/#sns.us-west-2.amazonaws.com",
    "https://sns.us-west-2.amazonaws.com@evil.example/",
    "https://evil.example\\.sns.us-west-2.amazonaws.com/",
    "https://127.0.0.1/",
    "https://[::1]/",
    "https://sns.us-\nwest-2.amazonaws.com/",
    "//sns.us-west-2.amazonaws.com/",
    "nonsense",
    "",
    undefined,
    7,
    `https://sns.us-west-2.amazonaws.com/${"a".repeat(2_048)}`,
  ])("is neither fetched nor a handshake elsewhere: %s", async (url) => {
    const { fetched, remoteKeys } = confirming(true);
    expect(await answerTo(subscription, confirmation(url), { remoteKeys })).toBeUndefined();
    expect(fetched).toEqual([]);
  });

  test("that does not answer makes the sender try again", async () => {
    const { remoteKeys } = confirming(false);
    const answer = await answerTo(subscription, confirmation("https://confirm.example.org/"), { remoteKeys });
    const message = "The URL that confirms the subscription did not answer; send this request again.";
    const body = JSON.stringify({ ok: false, error: message, code: "BUSY" });
    const { headers, ...rest } = content(503, "application/json; charset=utf-8", body);
    expect(answer?.answer).toEqual({ ...rest, headers: { ...headers, "retry-after": 30 } });
  });

  test("is not fetched for a request that nothing has verified", async () => {
    const { fetched, remoteKeys } = confirming(true);
    const call = callOf(confirmation("https://confirm.example.org/"));
    expect(await compile([subscription], { remoteKeys }).unverified(call)).toBeUndefined();
    expect(fetched).toEqual([]);
  });
});

describe("effects that are refused at load", () => {
  const withEffect = (effect: Handshake["effect"], changes: Partial<Handshake> = {}) =>
    compile.bind(undefined, [{ ...subscription, ...changes, effect }]);
  const refusal = (reason: string) =>
    new TypeError(`The handshake "SubscriptionConfirmation" cannot be used: ${reason}.`);

  test("a key and a URL at once", () => {
    expect(withEffect({ keyFrom: "body:key", confirmUrlFrom: "body:url", confirmHosts: HOSTS })).toThrow(
      refusal("it has two effects"),
    );
  });

  test("a URL to fetch for any caller", () => {
    expect(withEffect(subscription.effect, { verified: false })).toThrow(
      refusal("a URL is fetched only for a verified request"),
    );
  });

  test.each([[undefined], [[]]])("a URL on any host: %j", (confirmHosts) => {
    expect(withEffect({ confirmUrlFrom: "body:url", ...(confirmHosts && { confirmHosts }) })).toThrow(
      refusal("confirmHosts names no host"),
    );
  });

  test.each([
    "*",
    "*.com",
    "sns.*",
    "a.*.com",
    "s*.example.com",
    "",
    "com",
    "a b.com",
    "https://a.com",
    "a..com",
    ".a.com",
    "a.com.",
  ])("a host that is none or is anyone's: %j", (host) => {
    const make = withEffect({ confirmUrlFrom: "body:url", confirmHosts: ["example.com", host] });
    expect(make).toThrow(refusal(`"${host}" is no host to confirm with`));
  });

  test.each(["*.example.com", "*.*.example.com", "example.com", "a-1.b.example.com"])(
    "not a host such as %s",
    (host) => {
      expect(withEffect({ confirmUrlFrom: "body:url", confirmHosts: [host] })).not.toThrow();
    },
  );

  test("a key that the body of an event could deliver", () => {
    expect(withEffect({ keyFrom: "body:key" }, { verified: false })).toThrow(
      refusal("a body that delivers a key needs onlyKeys"),
    );
  });

  test.each(["pair:t", "key", "body:", "body:a[].b", "header:", "query:"])(
    "a place that there is none of: %s",
    (source) => {
      expect(withEffect({ keyFrom: source })).toThrow(
        refusal(`"${source}" is no place in a header, the query or the body`),
      );
      expect(withEffect({ confirmUrlFrom: source, confirmHosts: HOSTS })).toThrow(
        refusal(`"${source}" is no place in a header, the query or the body`),
      );
    },
  );

  test("an effect that says nothing is none", async () => {
    const answer = await answerTo({ ...subscription, effect: {} }, confirmation("https://elsewhere.example/"));
    expect(answer?.answer).toEqual(empty(200));
  });
});
