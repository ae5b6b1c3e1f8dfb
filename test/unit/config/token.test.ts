import { describe, expect, it } from "vitest";
import { readHooksConfig } from "../../../src/config/read-hooks.ts";
import { context, exposed, GATEWAY_SECRET, GOOD_TOKEN, refusals } from "./hooks-context.ts";

const KNOWN = "is the token of a published example; make one with: openssl rand -hex 24";

describe("rules for hooks.token", () => {
  it("spec 2.1: hooks.token is required when hooks.enabled=true", () => {
    const line = "hooks.token: is required when hooks.enabled is true; make one with: openssl rand -hex 24";
    expect(refusals({ enabled: true })).toEqual([line]);
    expect(refusals({ enabled: false })).toEqual([]);
    expect(refusals({})).toEqual([]);
  });

  it("spec 5.6: the hook token must not be the gateway's auth token", () => {
    const line = "is also a secret of the gateway itself; give the hooks a token of their own";
    expect(refusals({ enabled: true, token: GATEWAY_SECRET })).toEqual([`hooks.token: ${line}`]);
    expect(refusals({ enabled: true, token: ` ${GATEWAY_SECRET} ` })).toEqual([`hooks.token: ${line}`]);
    const list = { enabled: true, token: [GOOD_TOKEN, { env: "T" }] };
    expect(refusals(list, context({ env: { T: GATEWAY_SECRET } }))).toEqual([`hooks.token[1]: ${line}`]);
  });

  it("refuses a secret of the gateway however many it has", () => {
    const gateway = { secrets: ["one", "two", ` ${GOOD_TOKEN}\n`], loopbackOnly: true, trustedProxies: [] };
    expect(refusals({ enabled: true, token: GOOD_TOKEN }, context({ gateway }))).toHaveLength(1);
  });

  it("refuses a token of fewer than 24 characters where the gateway listens beyond loopback", () => {
    expect(refusals({ enabled: true, token: "k".repeat(23) }, exposed())).toEqual([
      "hooks.token: has fewer than 24 characters, and more than this machine reaches the gateway; make a longer one with: openssl rand -hex 24",
    ]);
    expect(refusals({ enabled: true, token: "k".repeat(24) }, exposed())).toEqual([]);
    const list = [GOOD_TOKEN, "short-but-nice"];
    expect(refusals({ enabled: true, token: list }, exposed())[0]).toContain("hooks.token[1]: has fewer than 24");
  });

  it("refuses a token of fewer than 24 characters behind a proxy and at a public URL", () => {
    const token = "k".repeat(23);
    const proxied = context({ gateway: { secrets: [], loopbackOnly: true, trustedProxies: ["127.0.0.1"] } });
    expect(refusals({ enabled: true, token }, proxied)).toEqual([
      "hooks.token: has fewer than 24 characters, and gateway.trustedProxies names a proxy, which strangers reach; make a longer one with: openssl rand -hex 24",
    ]);
    expect(refusals({ enabled: true, token, publicUrl: "https://hooks.example.com" })).toEqual([
      "hooks.token: has fewer than 24 characters, and hooks.publicUrl names an address that strangers reach; make a longer one with: openssl rand -hex 24",
    ]);
    expect(refusals({ enabled: true, token: GOOD_TOKEN, publicUrl: "https://hooks.example.com" })).toEqual([]);
    expect(refusals({ enabled: true, token, publicUrl: " " })).toEqual([]);
  });

  it("warns of a short token on loopback", () => {
    const { config, warnings } = readHooksConfig({ enabled: true, token: "k".repeat(23) }, context());
    expect(config.tokens).toEqual(["k".repeat(23)]);
    expect(warnings).toEqual([
      "hooks.token: has fewer than 24 characters; make a longer one with: openssl rand -hex 24",
    ]);
  });

  it.each([
    "changeme",
    "change-me",
    "CHANGE_ME",
    "secret",
    "your-token-here",
    "<YOUR_TOKEN>",
    "shared-secret",
    "your-webhook-secret",
    "<HOOK_TOKEN>",
    "password",
    "replace-with-your-token",
    "openclaw-hooks-token",
  ])("refuses the example %j on loopback too", (token) => {
    expect(refusals({ enabled: true, token })).toEqual([`hooks.token: ${KNOWN}`]);
  });

  it("refuses a variable that nothing has replaced", () => {
    expect(refusals({ enabled: true, token: "${OPENCLAW_HOOKS_TOKEN_2026}" })).toEqual([
      "hooks.token: holds a ${VARIABLE} that was not replaced",
    ]);
  });

  it("refuses what no header can carry, and what is too long to be a token", () => {
    expect(refusals({ enabled: true, token: `${GOOD_TOKEN}\n${GOOD_TOKEN}` })).toEqual([
      "hooks.token: holds a line break or another control character, which no header can carry",
    ]);
    expect(refusals({ enabled: true, token: "k".repeat(1_025) })).toEqual([
      "hooks.token: has more than 1024 characters",
    ]);
    expect(refusals({ enabled: true, token: "k".repeat(1_024) })).toEqual([]);
  });

  it("refuses each bad token of a list at once", () => {
    expect(refusals({ enabled: true, token: ["changeme", GATEWAY_SECRET, ""] })).toHaveLength(3);
  });

  it.each([
    "authorization",
    "Host",
    "content-type",
    "Content-Length",
    "transfer-encoding",
    "cookie",
    "x-forwarded-for",
    "idempotency-key",
  ])("refuses %s as hooks.tokenHeader", (tokenHeader) => {
    expect(refusals({ tokenHeader })).toEqual([
      `hooks.tokenHeader: "${tokenHeader.toLowerCase()}" has a meaning of its own; choose another header`,
    ]);
  });

  it("takes any other header as hooks.tokenHeader, in lower case", () => {
    expect(readHooksConfig({ tokenHeader: "X-OpenClaw-Token" }, context()).config.tokenHeader).toBe("x-openclaw-token");
  });
});
