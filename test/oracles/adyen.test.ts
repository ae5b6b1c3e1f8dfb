import adyenLibrary from "@adyen/api-library";
import { describe, expect, it } from "vitest";
import type { PresetSample } from "../../src/presets/preset.ts";
import { adyen } from "../../src/presets/senders/adyen.ts";
import { receivedCall, signSample } from "../../src/testing/preset-probe.ts";
import { recordVectors } from "./record-vectors.ts";

const SECRET = "DFB1EB5485895CFA84146406857104ABB4CBCABDC8AAF103A624C8F6A3EAAB00";
const URL = "https://gateway.example.com/hooks/adyen";
const options = { secrets: [SECRET] };
const validator = new adyenLibrary.hmacValidator();
const recorder = recordVectors(adyen, "@adyen/api-library");

/** As plain data; the library's own type is a class. */
interface Item {
  readonly amount: { readonly currency: string; readonly value: number };
  readonly additionalData: object;
}
type SdkItem = Parameters<typeof validator.validateHMAC>[0];
interface Payload {
  readonly notificationItems: readonly { readonly NotificationRequestItem: Item }[];
}

/** The library judges one item; a call is good when all of its items are. */
function bothSay(payload: Payload) {
  const headers = { "content-type": "application/json" };
  const call = receivedCall({ url: URL, headers, body: Buffer.from(JSON.stringify(payload)) });
  const items = payload.notificationItems.map((each) => each.NotificationRequestItem);
  return recorder.judge(call, options, () =>
    items.every((item) => validator.validateHMAC(item as unknown as SdkItem, SECRET)),
  );
}

/** As the library signs it. */
function signedByLibrary({ payload }: PresetSample, changes: object = {}): Payload["notificationItems"][number] {
  const item = { ...(payload as Payload).notificationItems[0]!.NotificationRequestItem, ...changes };
  const hmacSignature = validator.calculateHmac(item as unknown as SdkItem, SECRET);
  return { NotificationRequestItem: { ...item, additionalData: { ...item.additionalData, hmacSignature } } };
}

const callOf = (...notificationItems: Payload["notificationItems"]) => ({ live: "false", notificationItems });

describe.each(Object.entries(adyen.samples))("%s", (_, sample) => {
  const signed = signedByLibrary(sample);
  const changed = (changes: object) =>
    callOf({ NotificationRequestItem: { ...signed.NotificationRequestItem, ...changes } });

  it("is accepted by both as the library signs it", async () => {
    expect(await bothSay(callOf(signed))).toEqual({ we: true, sdk: true });
  });

  it("is accepted by both as we sign it", async () => {
    const { body } = signSample(adyen, sample, { key: SECRET, ...options });
    expect(await bothSay(JSON.parse(Buffer.from(body).toString()) as Payload)).toEqual({ we: true, sdk: true });
  });

  it.each<[string, object]>([
    ["another amount", { amount: { currency: "EUR", value: 4901 } }],
    ["another currency", { amount: { currency: "USD", value: 4900 } }],
    ["another outcome", { success: "maybe" }],
    ["another event", { eventCode: "CANCELLATION" }],
    ["another payment", { pspReference: "8835540567420009" }],
    ["another original payment", { originalReference: "8835540567420009" }],
    ["another order", { merchantReference: "order-1002" }],
    ["another account", { merchantAccountCode: "OtherECOM" }],
    ["another signature", { additionalData: { hmacSignature: validator.calculateHmac("other", SECRET) } }],
    ["no signature", { additionalData: {} }],
  ])("is refused by both with %s", async (_what, changes) => {
    expect(await bothSay(changed(changes))).toEqual({ we: false, sdk: false });
  });

  it("is accepted by both with another reason, which Adyen does not sign", async () => {
    expect(await bothSay(changed({ reason: "another" }))).toEqual({ we: true, sdk: true });
  });
});

describe("several items", () => {
  const [first, second] = [signedByLibrary(adyen.samples["REFUND"]!), signedByLibrary(adyen.samples["CHARGEBACK"]!)];

  it("are accepted by both when each is signed", async () => {
    expect(await bothSay(callOf(first, second))).toEqual({ we: true, sdk: true });
  });

  it("are refused by both when one of them is not", async () => {
    const unsigned = { NotificationRequestItem: { ...second.NotificationRequestItem, additionalData: {} } };
    expect(await bothSay(callOf(first, unsigned))).toEqual({ we: false, sdk: false });
    expect(await bothSay(callOf(unsigned, first))).toEqual({ we: false, sdk: false });
  });
});
