import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { dropbox } from "../../../../src/presets/senders/dropbox.ts";
import { readSample, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { sampleCall } from "../sample-call.ts";

const SECRET = "an-invented-secret-of-acme";

describe("the preset dropbox", () => {
  itReadsSamples(dropbox, {
    list_folder: {
      event: "list_folder",
      message: [
        "Files have changed in 1 Dropbox account",
        "Account: dbid:AAH4f99T0taONIb-OurWxbNQ6ywGRopQngc",
        "Changes: POST https://api.dropboxapi.com/2/files/list_folder/continue with the account's last cursor",
      ],
    },
  });

  it("names every account of a notification about many, and shows one about others as it is", () => {
    const accounts = Array.from({ length: 50 }, (_, at) => `dbid:${at}`);
    const { message } = readSample(dropbox, { payload: { list_folder: { accounts } } });
    expect(message.split("\n").filter((line) => line.startsWith("Account: "))).toHaveLength(50);
    const teams = { "dbtid:1": ["dbmid:2"] };
    expect(readSample(dropbox, { payload: { list_folder: { teams } } }).message).toBe(
      'Files have changed in Dropbox\nteams: {"dbtid:1":["dbmid:2"]}\nChanges: POST https://api.dropboxapi.com/2/files/list_folder/continue with the account\'s last cursor',
    );
  });

  it("takes a signature over the exact body, and no other", async () => {
    const sign = (body: Uint8Array): string => createHmac("sha256", SECRET).update(body).digest("hex");
    const call = sampleCall(dropbox, "list_folder", (body) => ({ "x-dropbox-signature": sign(body) }));
    const verify = (changes: object, headers: object = {}) =>
      verifyCall(dropbox, { ...call, ...changes, headers: { ...call.headers, ...headers } }, { secrets: [SECRET] });
    expect((await verify({})).ok).toBe(true);
    for (const refused of [
      verify({ body: Buffer.concat([call.body, Buffer.from(" ")]) }),
      verify({}, { "x-dropbox-signature": sign(Buffer.from("other")) }),
      verify({}, { "x-dropbox-signature": undefined }),
    ]) {
      expect((await refused).ok).toBe(false);
    }
  });
});
