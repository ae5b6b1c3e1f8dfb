import { describe, expect, it } from "vitest";
import { checkCallbackUrl, isCallbackHost } from "../../../src/policy/callback-url.ts";

const CALLBACKS = { hosts: ["ci.example.com", "*.hooks.example.org"], secret: "whsec_c2VjcmV0" };

describe("the URL of a callback", () => {
  it.each([
    "https://ci.example.com/done",
    "https://CI.Example.COM/done?id=1",
    "https://ci.example.com:443/",
    "https://a.hooks.example.org/",
    "https://a.b.hooks.example.org/",
    `https://ci.example.com/${"k".repeat(2_025)}`,
  ])("is taken when its host is allowed: %s", (url) => {
    expect(checkCallbackUrl(url, CALLBACKS)).toBeUndefined();
  });

  it.each([
    ["another host", "https://example.com/"],
    ["a host below one that is allowed alone", "https://a.ci.example.com/"],
    ["a host that ends like an allowed one", "https://evilci.example.com/"],
    ["a host that begins like an allowed one", "https://ci.example.com.evil.example/"],
    ["the name itself of a pattern for those below", "https://hooks.example.org/"],
    ["a host that ends like a pattern", "https://evilhooks.example.org/"],
    ["an absolute name", "https://ci.example.com./"],
    ["an address", "https://127.0.0.1/"],
    ["http", "http://ci.example.com/"],
    ["another protocol", "ftp://ci.example.com/"],
    ["another port", "https://ci.example.com:8443/"],
    ["credentials", "https://user:password@ci.example.com/"],
    ["a user only, who looks like the host", "https://ci.example.com@evil.example/"],
    ["more than 2,048 characters", `https://ci.example.com/${"k".repeat(2_026)}`],
    ["no URL", "ci.example.com"],
    ["nothing", ""],
  ])("is refused for %s", (_case, url) => {
    expect(checkCallbackUrl(url, CALLBACKS)).toMatchObject({ refused: "CALLBACK_NOT_ALLOWED" });
  });

  it("is refused, whatever it is, where callbacks are not configured", () => {
    expect(checkCallbackUrl("https://ci.example.com/", undefined)).toMatchObject({ refused: "CALLBACK_NOT_ALLOWED" });
  });

  it("has its host compared whole", () => {
    expect(isCallbackHost("ci.example.com", { hosts: [] })).toBe(false);
    expect(isCallbackHost("", { hosts: ["*.example.com"] })).toBe(false);
  });
});
