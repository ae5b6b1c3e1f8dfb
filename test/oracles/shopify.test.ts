import { createHmac } from "node:crypto";
import { ApiVersion, LogSeverity, shopifyApi } from "@shopify/shopify-api";
import "@shopify/shopify-api/adapters/node";
import { expect, it } from "vitest";
import { shopify } from "../../src/presets/senders/shopify.ts";
import { receivedCall } from "../../src/testing/preset-probe.ts";
import { describeOracle } from "./describe-oracle.ts";
import type { OracleRequest } from "./describe-oracle.ts";

const SECRET = "shpss_0123456789abcdef0123456789abcdef";
const api = shopifyApi({
  apiKey: "nothing-is-called",
  apiSecretKey: SECRET,
  apiVersion: Object.values(ApiVersion)[0]!,
  hostName: "gateway.example.com",
  isEmbeddedApp: false,
  logger: { level: LogSeverity.Error, log: () => undefined },
});

const digestOf = (body: string) => createHmac("sha256", SECRET).update(body).digest("base64");
const accepts = async ({ url, headers, body }: OracleRequest): Promise<boolean> => {
  const rawRequest = { method: "POST", url, headers };
  return (await api.webhooks.validate({ rawBody: body, rawRequest, rawResponse: {} })).valid;
};

const recorder = describeOracle({
  preset: shopify,
  library: "@shopify/shopify-api",
  secret: SECRET,
  header: "x-shopify-hmac-sha256",
  sign: ({ body }) => ({ "x-shopify-hmac-sha256": digestOf(body) }),
  accepts,
  appended: { write: (value) => `${value}, ${"A".repeat(43)}=`, ours: false, theirs: false },
});

it("takes the header that Shopify's events bring, as the library does", async () => {
  const body = JSON.stringify({ topic: "Product", action: "update" });
  const request = {
    url: "https://gateway.example.com/hooks/shopify",
    headers: {
      "shopify-hmac-sha256": digestOf(body),
      "shopify-topic": "Product",
      "shopify-action": "update",
      "shopify-shop-domain": "example-ceramics.myshopify.com",
      "shopify-api-version": "unstable",
      "shopify-webhook-id": "w-1",
    },
    body,
  };
  const call = receivedCall({ ...request, body: Buffer.from(body) });
  expect(await recorder.judge(call, { secrets: [SECRET] }, () => accepts(request))).toEqual({ we: true, sdk: true });
});
