import { expect, test } from "vitest";
import { isCredentialName, isCredentialParameter } from "../../../src/http/credentials.ts";

test.each([
  "authorization",
  "proxy-authorization",
  "x-forwarded-authorization",
  "cookie",
  "set-cookie",
  "x-service-token",
  "x-openclaw-token",
  "x-gitlab-token",
  "x-telegram-bot-api-secret-token",
  "x-hook-secret",
  "x-api-key",
  "x_api_key",
  "apikey",
  "API_KEY",
  "x-auth-token",
  "x-auth-key",
  "x-amz-security-token",
  "x-functions-key",
  "ocp-apim-subscription-key",
  "x-webhook-secret",
  "x-goog-iap-jwt-assertion",
  "accessToken",
  "client_secret",
  "password",
  "passwd",
  "auth",
  "authentication",
  "X-Auth",
  "x-key",
  "x-user-pass",
  "x-session",
  "x-csrf",
  "x-otp",
])("%s carries a credential", (name) => {
  expect(isCredentialName(name)).toBe(true);
});

test.each([
  "host",
  "content-type",
  "user-agent",
  "x-github-event",
  "x-github-delivery",
  "x-hub-signature-256",
  "stripe-signature",
  "x-slack-signature",
  "webhook-signature",
  "x-event-key",
  "idempotency-key",
  "x-service-idempotency-key",
  "key",
  "sessionKey",
  "author",
  "x-cookie-consent",
  "compass",
  "x-session-id",
  "x-author",
  "sig",
  "code",
])("%s carries none", (name) => {
  expect(isCredentialName(name)).toBe(false);
});

test.each(["sig", "code", "Code", "api_key", "token"])("%s carries a credential in a query", (name) => {
  expect(isCredentialParameter(name)).toBe(true);
});

test.each(["signature", "country_code", "codes", "key", "state"])("%s carries none in a query", (name) => {
  expect(isCredentialParameter(name)).toBe(false);
});
