import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodedUrl } from "../../../../src/auth/signatures/content-texts.ts";
import { formText } from "../../../../src/auth/signatures/content-texts.ts";
import { snsText } from "../../../../src/auth/signatures/content-texts.ts";
import { urlVariants } from "../../../../src/auth/signatures/content-texts.ts";
import { callOf } from "./scheme-bench.ts";

const form = (body: string, type = "application/x-www-form-urlencoded") =>
  formText(callOf({ headers: { "content-type": type }, body }));

describe("formText", () => {
  it.each([
    ["", ""],
    ["a=1", "a1"],
    ["b=2&a=1", "a1b2"],
    ["a", "a"],
    ["a=1&&b=2", "a1b2"],
    ["a=x+y%2Bz", "ax y+z"],
    ["B=1&a=2", "B1a2"],
    ["a=2&a=1&a=2", "a1a2"],
    ["a=b&a=a&a=c", "aaabac"],
    ["a=1=2", "a1=2"],
    ["%C3%BC=%E2%82%AC", "ü€"],
    [" a=1 ", " a1 "],
  ])("writes %j as %j", (body, text) => {
    expect(form(body)).toBe(text);
  });

  it("is empty for what is no form", () => {
    expect(form("a=1", "application/json")).toBe("");
    expect(formText(callOf({ body: "a=1" }))).toBe("");
    expect(form("a=1", "application/x-www-form-urlencoded; charset=UTF-8")).toBe("a1");
  });

  it("does not depend on the order of fields with names of their own", () => {
    const fields = fc.uniqueArray(fc.tuple(fc.stringMatching(/^[a-z]{1,3}$/), fc.string()), {
      selector: ([name]) => name,
    });
    fc.assert(
      fc.property(fields, (pairs) => {
        const text = form(new URLSearchParams(pairs).toString());
        expect(form(new URLSearchParams(pairs.toReversed()).toString())).toBe(text);
      }),
    );
  });

  it("takes 1,000 fields and no more", () => {
    expect(form("a=1&".repeat(999))).toBe("a1");
    expect(form("a=1&".repeat(1_000))).toBeUndefined();
  });
});

describe("snsText", () => {
  const notification = {
    Type: "Notification",
    MessageId: "id",
    TopicArn: "arn",
    Message: "m",
    Timestamp: "t",
    Other: "x",
  };
  const confirmation = { ...notification, Type: "SubscriptionConfirmation", SubscribeURL: "https://x", Token: "k" };

  it("writes the fields of a notification", () => {
    expect(snsText(notification)).toBe("Message\nm\nMessageId\nid\nTimestamp\nt\nTopicArn\narn\nType\nNotification\n");
  });

  it("writes the subject when there is one", () => {
    expect(snsText({ ...notification, Subject: "s" })).toBe(
      "Message\nm\nMessageId\nid\nSubject\ns\nTimestamp\nt\nTopicArn\narn\nType\nNotification\n",
    );
  });

  it.each(["SubscriptionConfirmation", "UnsubscribeConfirmation"])("writes the fields of a %s", (Type) => {
    expect(snsText({ ...confirmation, Type, Subject: "no part of it" })).toBe(
      `Message\nm\nMessageId\nid\nSubscribeURL\nhttps://x\nTimestamp\nt\nToken\nk\nTopicArn\narn\nType\n${Type}\n`,
    );
  });

  it.each([
    undefined,
    null,
    "Notification",
    [],
    {},
    { ...notification, Type: "Other" },
    { ...notification, Type: "toString" },
    { ...notification, Type: ["Notification"] },
    { ...notification, Message: undefined },
    { ...notification, Message: 5 },
    { ...notification, Subject: null },
    { ...notification, Type: "SubscriptionConfirmation" },
    Object.create(notification) as unknown,
  ])("writes nothing for %j", (payload) => {
    expect(snsText(payload)).toBeUndefined();
  });
});

describe("decodedUrl", () => {
  it("undoes the twelve escapes that HubSpot names, in any case", () => {
    expect(decodedUrl("%3A%2F%3F%40%21%24%27%28%29%2A%2C%3B")).toBe(":/?@!$'()*,;");
    expect(decodedUrl("%3a%2f%3f%2a%2c%3b")).toBe(":/?*,;");
  });

  it.each(["%20", "%25", "%253A", "%26", "%3D", "%2B", "%C3%BC", "%zz", "%"])("leaves %s as it is", (text) => {
    expect(decodedUrl(`https://x.example/a?b=${text}`)).toBe(`https://x.example/a?b=${text}`);
  });
});

describe("urlBases", () => {
  it.each([
    ["https://x.example", "https://x.example:443"],
    ["http://x.example", "http://x.example:80"],
    ["HTTPS://x.example", "HTTPS://x.example:443"],
    ["https://x.example:443", "https://x.example"],
    ["https://x.example:8443/base", "https://x.example/base"],
    ["https://x.example/base:1", "https://x.example:443/base:1"],
    ["http://[::1]", "http://[::1]:80"],
    ["http://[::1]:80", "http://[::1]"],
  ])("writes %s also as %s", (url, other) => {
    expect(urlVariants(url)).toEqual([url, other]);
  });

  it("leaves what is no URL of HTTP alone", () => {
    expect(urlVariants("x.example")).toEqual(["x.example"]);
  });
});
