import { expect, test } from "vitest";
import { compileRequestHead } from "../../../src/ingress/request-head.ts";
import { compileRequestTarget } from "../../../src/ingress/request-head.ts";

const requestHead = compileRequestHead({ credentialHeaders: ["x-our-carrier"] });
const target = compileRequestTarget("/hooks")("/hooks/github/push?ref=main&access_token=t");

test("a head holds what is known of a request, and no credential", () => {
  const request = { method: "POST", headers: { "x-event": "push", "x-our-carrier": "t", authorization: "Bearer t" } };
  const head = requestHead(request, { target, clientAddress: "192.0.2.1", receivedAt: 1234 });
  expect({ ...head, query: { ...head.query }, headers: { ...head.headers } }).toEqual({
    method: "POST",
    path: "github/push",
    query: { ref: "main" },
    headers: { "x-event": "push" },
    clientAddress: "192.0.2.1",
    receivedAt: 1234,
  });
});

test("a request without a method, which Node's types allow for, has an empty one", () => {
  expect(requestHead({ headers: {} }, { target, clientAddress: "unknown", receivedAt: 0 }).method).toBe("");
});
