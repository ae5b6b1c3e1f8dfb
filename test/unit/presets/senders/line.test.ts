import { describe, expect, it } from "vitest";
import { line } from "../../../../src/presets/senders/line.ts";
import { readSample } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { itTakesTheHmac } from "../it-takes-the-hmac.ts";

const read = (...events: readonly object[]) => readSample(line, { payload: { events } });

describe("the preset line", () => {
  itReadsSamples(line, {
    "message.text": {
      event: "message.text",
      deliveryId: "01J9XK3V7M2NTPA4V6Q8R0S1T2",
      sender: { name: "U4af4980629a1c0d2e3f4a5b6c7d8e9f0", id: "U4af4980629a1c0d2e3f4a5b6c7d8e9f0", bot: false },
      message: [
        "LINE: message from U4af4980629a1c0d2e3f4a5b6c7d8e9f0 in group Ca56f94637c1d2e3f4a5b6c7d8e9f0a1b",
        "Is the shop open tomorrow?",
        "Ids: message 508924323532806589, quoted message 508924323532806001, quote token q3Plxr4AgKd4dK, reply token nHuyWiB7yP5Zw52FIkcQobQuGDXCTA",
      ],
    },
    postback: {
      event: "postback+follow",
      deliveryId: "sha256-5cb35eab2053cd2282d3a2e03d4b61c0c7f0a4085b8b83773e5dc51850e8f546",
      sender: { name: "U4af4980629a1c0d2e3f4a5b6c7d8e9f0", id: "U4af4980629a1c0d2e3f4a5b6c7d8e9f0", bot: false },
      message: [
        "LINE: postback from U4af4980629a1c0d2e3f4a5b6c7d8e9f0",
        'Postback: {"data":"action=book&item=111","params":{"datetime":"2026-12-25T01:00"}}',
        "Ids: reply token b60d432864f44d079f6d8efe86cf404b",
        "LINE sent this again: it may have been handled.",
        "LINE: follow from U4af4980629a1c0d2e3f4a5b6c7d8e9f0",
        "Ids: reply token 85cbe770fa8b4f45bbe077b1d4be4a36",
      ],
    },
    check: {
      skip: "LINE checks the URL",
      message: ["LINE sent an event", "destination: Ub9952f8d1c2d3e4f5a6b7c8d9e0f1a2b"],
    },
  });
  itTakesTheHmac(line, "message.text", "x-line-signature", (mac) => mac.digest("base64"));

  it.each<[object, string]>([
    [
      {
        type: "message",
        message: { type: "location", id: "1", title: "Shop", address: "1 Main St", latitude: 1.5, longitude: 2.5 },
      },
      "LINE: location message\nPlace: Shop, 1 Main St, 1.5, 2.5\nIds: message 1",
    ],
    [
      { type: "message", message: { type: "file", id: "2", fileName: "order.pdf" } },
      "LINE: file message\nFile: order.pdf\nIds: message 2",
    ],
    [
      { type: "message", message: { type: "sticker", id: "3", packageId: "446", stickerId: "1988" } },
      "LINE: sticker message\nSticker: 446 1988\nIds: message 3",
    ],
    [
      { type: "messageEdited", message: { type: "text", id: "4", text: "Closed?" }, mode: "standby" },
      "LINE: message edited\nClosed?\nIds: message 4\nAnother service answers this chat now (standby).",
    ],
    [{ type: "unsend", unsend: { messageId: "5" } }, 'LINE: unsend\nUnsend: {"messageId":"5"}'],
    [{ type: "module", module: { type: "attached" } }, 'LINE: module\n{"type":"module","module":{"type":"attached"}}'],
  ])("says what is in %j", (event, message) => {
    expect(read(event).message).toBe(message);
  });

  it("names no sender of events of several users", () => {
    const by = (userId: string) => ({ type: "follow", source: { type: "user", userId } });
    expect(read(by("U1"), by("U2")).sender).toBeUndefined();
    expect(read(by("U1"), by("U1")).sender).toEqual({ name: "U1", id: "U1", bot: false });
  });
});
