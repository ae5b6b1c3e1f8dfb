import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { microsoftTeams } from "../../../../src/presets/senders/microsoft-teams.ts";
import { readSample, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { sampleCall } from "../sample-call.ts";

const TOKEN = Buffer.from("a security token of the tests...").toString("base64");

describe("the preset microsoft-teams", () => {
  itReadsSamples(microsoftTeams, {
    message: {
      event: "message",
      deliveryId: "19:253b1f341670408fb6fe51050b6e5ceb@thread.tacv2;messageid=1795175990521.1795175990521",
      sender: { name: "Ada Byron", id: "8c0b2b7e-5a3c-4b1b-9a52-1f0d4c7a1a10", bot: false },
      answer: { status: 200, contentType: "application/json", body: '{"type":"message","text":"Received."}' },
      message: [
        "Teams: Ada Byron wrote",
        "restart the staging server",
        "Team: 19:712c61d0ef384e5fa681ba90ca943398@thread.tacv2",
        "Channel: 19:253b1f341670408fb6fe51050b6e5ceb@thread.tacv2",
        "Conversation: 19:253b1f341670408fb6fe51050b6e5ceb@thread.tacv2;messageid=1795175990521",
        "Message id: 1795175990521",
        "Author id: 8c0b2b7e-5a3c-4b1b-9a52-1f0d4c7a1a10",
      ],
    },
  });

  it("takes Authorization: HMAC with the HMAC-SHA256 of the body by the decoded token, and nothing like it", async () => {
    const mac = (body: Uint8Array, key: Buffer) => createHmac("sha256", key).update(body).digest("base64");
    const call = sampleCall(microsoftTeams, "message", (body) => ({
      authorization: `HMAC ${mac(body, Buffer.from(TOKEN, "base64"))}`,
    }));
    const verify = async (changes: object) =>
      (await verifyCall(microsoftTeams, { ...call, ...changes }, { secrets: [TOKEN] })).ok;
    const withHeader = (authorization: string) => verify({ headers: { ...call.headers, authorization } });
    expect(await verify({})).toBe(true);
    expect(await verify({ body: Buffer.concat([call.body, Buffer.from(" ")]) })).toBe(false);
    expect(await withHeader(`HMAC ${mac(call.body, Buffer.from(TOKEN))}`)).toBe(false);
    expect(await withHeader(call.headers["authorization"]!.replace("HMAC", "Bearer"))).toBe(false);
    expect(await withHeader("HMAC ")).toBe(false);
  });

  it("refuses the tokens of Microsoft's own samples", () => {
    expect(microsoftTeams.secret?.known).toContain("+ZaRRMC8+mpnfGaGsBOmkIFt98bttL5YQRq3p2tXgcE=");
  });

  it("reads what was written without the mention and without HTML", () => {
    const text = '<p><at id="0">Reveille</at> a &lt;b&gt;<br>c</p>';
    expect(readSample(microsoftTeams, { payload: { from: { name: "Ada" }, text } }).message).toBe(
      "Teams: Ada wrote\na <b>\nc",
    );
  });
});
