/** A preset held against the library of its sender, in both directions. */
import { describe, expect, it } from "vitest";
import type { SignedRequest } from "../../src/auth/signatures/sign-request.ts";
import type { ReplayKey } from "../../src/auth/verifier.ts";
import type { Preset, PresetSample } from "../../src/presets/preset.ts";
import { sampleBody } from "../../src/presets/preset.ts";
import { NOW, PUBLIC_URL, receivedCall, signSample, verifyCall } from "../../src/testing/preset-probe.ts";
import { recordVectors } from "./record-vectors.ts";
import type { VectorRecorder, Verdicts } from "./record-vectors.ts";

/** What a library and the rest of a test need to know of a request. */
export interface OracleRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Oracle {
  readonly preset: Preset;
  /** Name of the library's package. */
  readonly library: string;
  readonly secret: string;
  /** Header that holds the signature, lower case. */
  readonly header: string;
  /** The headers that the sender adds at `now`: by its library, or as its documentation says where that only verifies. */
  sign(request: OracleRequest, now: number): Promise<Record<string, string>> | Record<string, string>;
  /** Whether the library takes a request; what it throws is a refusal. */
  accepts(request: OracleRequest): Promise<unknown>;
  /** Seconds after which a request is stale, to us and to the library; absent when nothing is timed. */
  readonly staleAfter?: { readonly ours: number; readonly theirs: number };
  /** Seconds that a request may come from the future, to us; the library takes any where it says `any`. */
  readonly ahead?: { readonly ours: number; readonly theirs: number | "any" };
  /** A header to which a signature of somebody else was appended, and who still takes it. */
  readonly appended: {
    write(value: string): string;
    readonly ours: boolean;
    readonly theirs: boolean;
  };
}

/** Describes a preset beside its library, and returns what records further vectors of the same sender. */
export function describeOracle(oracle: Oracle): VectorRecorder {
  const { preset, secret, header, staleAfter, ahead, appended } = oracle;
  const secrets = [secret];
  const samples = Object.entries(preset.samples);
  const [[, sample]] = samples as [[string, PresetSample]];
  const recorder = recordVectors(preset, oracle.library);

  const bothSay = (request: OracleRequest, late = 0): Promise<Verdicts> => {
    const call = receivedCall({ ...request, body: Buffer.from(request.body) }, { receivedAt: NOW + late * 1_000 });
    return recorder.judge(call, { secrets }, () => oracle.accepts(request));
  };
  const signedByLibrary = async (): Promise<OracleRequest> => {
    const { body, contentType } = sampleBody(sample);
    const request = {
      url: `${PUBLIC_URL}/hooks/${preset.name}`,
      headers: { "content-type": contentType, ...sample.headers },
      body: Buffer.from(body).toString(),
    };
    return { ...request, headers: { ...request.headers, ...(await oracle.sign(request, NOW)) } };
  };
  const markOf = async (request: OracleRequest): Promise<ReplayKey> => {
    const verified = await verifyCall(preset, receivedCall({ ...request, body: Buffer.from(request.body) }), {
      secrets,
    });
    if (!verified.ok || verified.replay === undefined) throw new Error("the request is refused or leaves no mark");
    return verified.replay;
  };

  describe(`${preset.title} and its library`, () => {
    it("takes what the sender signs, as the library does", async () => {
      expect(await bothSay(await signedByLibrary())).toEqual({ we: true, sdk: true });
    });

    it.each(samples)("signs the sample %s so that the library takes it", async (_, sample) => {
      const signed = textOf(signSample(preset, sample, { secrets, key: secret }));
      expect(await bothSay(signed)).toEqual({ we: true, sdk: true });
    });

    it("refuses a body with a byte flipped, as the library does", async () => {
      const request = await signedByLibrary();
      const changed = {
        ...request,
        body: request.body.replace(/[a-z]/, (letter) => String.fromCharCode(letter.charCodeAt(0) ^ 1)),
      };
      expect(changed.body).not.toBe(request.body);
      expect(await bothSay(changed)).toEqual({ we: false, sdk: false });
    });

    it("refuses a signature with a character changed, as the library does", async () => {
      const request = await signedByLibrary();
      const value = request.headers[header]!;
      const at = value.length - 6;
      const changed = value.slice(0, at) + (value[at] === "0" ? "1" : "0") + value.slice(at + 1);
      const forged = { ...request, headers: { ...request.headers, [header]: changed } };
      expect(await bothSay(forged)).toEqual({ we: false, sdk: false });
    });

    it("refuses what another secret signed, as the library does", async () => {
      const signed = textOf(signSample(preset, sample, { secrets: [`${secret}x`], key: `${secret}x` }));
      expect(await bothSay(signed)).toEqual({ we: false, sdk: false });
    });

    it("refuses a request without a signature, as the library does", async () => {
      const request = await signedByLibrary();
      const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => name !== header));
      expect(await bothSay({ ...request, headers })).toEqual({ we: false, sdk: false });
    });

    it("meets an appended signature as it should", async () => {
      const request = await signedByLibrary();
      const more = { ...request, headers: { ...request.headers, [header]: appended.write(request.headers[header]!) } };
      expect(await bothSay(more)).toEqual({ we: appended.ours, sdk: appended.theirs });
    });

    it("knows a second copy again, however its signature is dressed", async () => {
      const request = await signedByLibrary();
      const mark = await markOf(request);
      expect((await markOf(request)).digest).toEqual(mark.digest);
      const headers = { ...request.headers, "x-request-id": "another", "user-agent": "another" };
      expect((await markOf({ ...request, headers })).digest).toEqual(mark.digest);
      if (!appended.ours) return;
      const dressed = { ...headers, [header]: appended.write(request.headers[header]!) };
      expect((await markOf({ ...request, headers: dressed })).digest).toEqual(mark.digest);
    });

    it("knows another body for another delivery", async () => {
      const marks = await Promise.all(
        samples.map(([, sample]) => markOf(textOf(signSample(preset, sample, { secrets, key: secret })))),
      );
      expect(new Set(marks.map(({ digest }) => Buffer.from(digest).toString("hex"))).size).toBe(samples.length);
    });

    if (staleAfter !== undefined) {
      it(`takes a request for ${staleAfter.ours} seconds, the library for ${staleAfter.theirs}`, async () => {
        const request = await signedByLibrary();
        for (const edge of [staleAfter.ours, staleAfter.theirs]) {
          for (const late of [edge, edge + 1]) {
            const expected = { we: late <= staleAfter.ours, sdk: late <= staleAfter.theirs };
            expect(await bothSay(request, late)).toEqual(expected);
          }
        }
      });

      it("remembers a copy until it is stale", async () => {
        expect((await markOf(await signedByLibrary())).expiresAt).toBeGreaterThanOrEqual(NOW + staleAfter.ours * 1_000);
      });
    } else {
      it("remembers a copy for a day, as nothing in it is timed", async () => {
        expect((await markOf(await signedByLibrary())).expiresAt).toBe(NOW + 86_400_000);
      });
    }

    if (ahead !== undefined) {
      it(`takes a request ${ahead.ours} seconds ahead, the library ${ahead.theirs}`, async () => {
        const request = await signedByLibrary();
        const limit = ahead.theirs === "any" ? 1_000_000 : ahead.theirs;
        for (const early of [ahead.ours, ahead.ours + 1, limit]) {
          const expected = { we: early <= ahead.ours, sdk: early <= limit };
          expect(await bothSay(request, -early)).toEqual(expected);
        }
      });
    }
  });
  return recorder;
}

function textOf({ url, headers, body }: SignedRequest): OracleRequest {
  return { url, headers, body: Buffer.from(body).toString() };
}
