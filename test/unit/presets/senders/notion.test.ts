import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { compileHandshakes } from "../../../../src/auth/handshake/handshake.ts";
import { notion } from "../../../../src/presets/senders/notion.ts";
import { readSample, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { callOf, compile, keyBox } from "../../auth/handshake/handshake-bench.ts";

const TOKEN = "secret_madeUpVerificationToken0123456789abcdef";
const read = (authors: unknown, further: Readonly<Record<string, unknown>> = {}) =>
  readSample(notion, { payload: { id: "n-1", type: "page.created", authors, ...further } });

describe("notion", () => {
  it.each(Object.entries(notion.samples))("names the event and the id of its sample %s", (name, sample) => {
    const { event, deliveryId, skip, answer } = readSample(notion, sample);
    expect({ event, deliveryId, skip, answer }).toEqual({
      event: name,
      deliveryId: "367cba44-b6f3-4c92-81e7-6a2e9659efd4",
      skip: undefined,
      answer: undefined,
    });
  });

  it("gives the change, its place and its actor", () => {
    expect(readSample(notion, notion.samples["page.properties_updated"]!).message).toBe(
      [
        "Page in the workspace Example Workshop had properties changed",
        "Properties: title, Due date",
        "By: bot c7c11cca-1d73-471d-9b6e-bdef51470190",
        "At: 2026-11-20 11:58 UTC",
        "In: database 0ef104cd-477e-80e1-8571-cfd10e92339b",
        "Id: 153104cd-477e-809d-8dc4-ff2d96ae3090",
        "Event: 367cba44-b6f3-4c92-81e7-6a2e9659efd4",
        "https://www.notion.so/153104cd477e809d8dc4ff2d96ae3090",
      ].join("\n"),
    );
  });

  it("links a comment to its page", () => {
    const data = { page_id: "0ef104cd-477e-80e1-8571-cfd10e92339a" };
    expect(read([], { type: "comment.deleted", data }).message).toBe(
      [
        "Comment was deleted",
        "Page: 0ef104cd-477e-80e1-8571-cfd10e92339a",
        "Event: n-1",
        "https://www.notion.so/0ef104cd477e80e18571cfd10e92339a",
      ].join("\n"),
    );
  });

  it("shows a property as it came when it is no escape, and one that is an object by its name", () => {
    const data = { updated_properties: ["100%", { id: "a%3Ab", name: "Owner" }, null] };
    expect(read([], { type: "page.properties_updated", data }).message).toContain("Properties: 100%, Owner");
  });

  it("lists the fields of an event that it has no words for", () => {
    expect(read([], { type: "hello" }).message).toMatch(/^Notion event hello\nid: n-1\ntype: hello\n/);
  });

  it.each([["bot"], ["agent"]])("marks an author of the type %s as a bot", (type) => {
    expect(read([{ id: "a-1", type }]).sender).toEqual({ name: "a-1", id: "a-1", bot: true });
  });

  it("takes the person among several authors", () => {
    const authors = [
      { id: "a-1", type: "bot" },
      { id: "a-2", type: "person" },
    ];
    expect(read(authors).sender).toEqual({ name: "a-2", id: "a-2", bot: false, unproven: true });
  });

  it.each([[[]], [undefined], [[{ type: "bot" }]], ["x"]])("knows no person among the authors %j", (authors) => {
    expect(read(authors).sender).toBeUndefined();
  });

  it("takes the first verification token, once, and answers 200", async () => {
    const deliveredKeys = keyBox();
    const handshakes = compile(notion.handshakes, { secrets: [], deliveredKeys });
    const call = callOf({ json: { verification_token: TOKEN } });
    expect((await handshakes.unverified(call))?.answer.status).toBe(200);
    expect(deliveredKeys.get("sender")).toBe(TOKEN);
    expect(await handshakes.unverified(callOf({ json: { verification_token: `${TOKEN}x` } }))).toBeUndefined();
    expect(deliveredKeys.get("sender")).toBe(TOKEN);
  });

  it.each([
    [{ verification_token: TOKEN, type: "page.created" }],
    [{ verification_token: "" }],
    [{ verification_token: { a: 1 } }],
    [[{ verification_token: TOKEN }]],
    [{}],
  ])("takes no token out of %j", async (json) => {
    const deliveredKeys = keyBox();
    const handshakes = compile(notion.handshakes, { secrets: [], deliveredKeys });
    expect(await handshakes.unverified(callOf({ json }))).toBeUndefined();
    expect(deliveredKeys.get("sender")).toBeUndefined();
  });

  it("takes no token beside a secret that the owner set", async () => {
    const handshakes = compileHandshakes(notion.handshakes, {
      route: "notion",
      secrets: [TOKEN],
      settings: {},
      remoteKeys: { jwks: () => ({ verify: never }), certificate: never, confirm: never, close: () => undefined },
      deliveredKeys: keyBox(),
    });
    expect(await handshakes.unverified(callOf({ json: { verification_token: `${TOKEN}x` } }))).toBeUndefined();
  });

  it("verifies events with the token that was delivered", async () => {
    const deliveredKeys = keyBox();
    await deliveredKeys.accept("notion", TOKEN);
    const body = JSON.stringify({ id: "n-1", type: "page.created" });
    const signature = createHmac("sha256", TOKEN).update(body).digest("hex");
    const call = (header: string) => callOf({ body, headers: { "x-notion-signature": header } });
    expect((await verifyCall(notion, call(`sha256=${signature}`), { deliveredKeys })).ok).toBe(true);
    expect((await verifyCall(notion, call(signature), { deliveredKeys })).ok).toBe(false);
    expect((await verifyCall(notion, call(`sha256=${signature}`))).ok).toBe(false);
  });
});

function never(): never {
  throw new Error("nothing is fetched here");
}
