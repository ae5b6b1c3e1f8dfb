import { X509Certificate } from "node:crypto";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { FetchError } from "../../../../src/http/guarded-fetch.ts";
import { CERTIFICATE_BOUNDS } from "../../../../src/auth/keys/certificate-cache.ts";
import { JWKS_BOUNDS } from "../../../../src/auth/keys/jwks-source.ts";
import { createRemoteKeys } from "../../../../src/auth/keys/remote-keys.ts";
import type { RemoteKeysOptions } from "../../../../src/auth/keys/remote-keys.ts";
import { eventually, json, keepingLogger, silence, startKeyServer, testClock, text } from "./key-server.ts";
import { PATIENT_BOUNDS } from "./patient-bounds.ts";
import { makeCertificate } from "./make-certificate.ts";
import { AUDIENCE, ISSUER, keySet, makeKey, signToken } from "./make-token.ts";
import type { ProviderKey } from "./make-token.ts";

const NOT_CONFIRMED = "a subscription was not confirmed";

let key: ProviderKey;

beforeAll(async () => {
  key = await makeKey("first");
});

function remoteKeys(options: Partial<RemoteKeysOptions> = {}) {
  const clock = testClock();
  const logger = keepingLogger();
  const remote = createRemoteKeys({ clock, logger, bounds: PATIENT_BOUNDS, allowLoopback: true, ...options });
  onTestFinished(() => remote.close());
  return { remote, clock, logger };
}

describe("sets of keys", () => {
  test("a token is verified with the keys at a URL", async () => {
    const server = await startKeyServer(json(keySet(key)));
    const { remote, clock } = remoteKeys();
    const keys = remote.jwks(`${server.origin}/certs`);
    const expected = { issuer: [ISSUER], audience: AUDIENCE, now: clock.now() };
    expect((await keys.verify(await signToken(key, { now: clock.now() }), expected)).ok).toBe(true);
  });

  test("routes with the same URL share one set, those with another do not", async () => {
    const server = await startKeyServer(json(keySet(key)));
    const { remote } = remoteKeys();
    const keys = remote.jwks(`${server.origin}/certs`);
    expect(remote.jwks(`${server.origin}/certs`)).toBe(keys);
    expect(remote.jwks(`${server.origin}/../certs`)).toBe(keys);
    expect(remote.jwks(`${server.origin}/other`)).not.toBe(keys);
    await eventually(() => expect(server.asked.toSorted()).toEqual(["/certs", "/other"]));
  });

  test("bounds are those that are given", async () => {
    const server = await startKeyServer(silence);
    const { remote } = remoteKeys({ bounds: { ...PATIENT_BOUNDS, jwks: { ...JWKS_BOUNDS, waitMs: 10 } } });
    const expected = { issuer: [ISSUER], audience: AUDIENCE, now: 0 };
    expect((await remote.jwks(server.origin).verify("token", expected)).ok).toBe(false);
  });

  test.each([
    ["http://keys.example.com/certs", "its URL does not begin with https://"],
    ["https://keys.example.com:444/certs", "its URL names another port than 443"],
    ["", "its URL cannot be read"],
  ])("the URL %j is refused with the configuration", (url, reason) => {
    const { remote } = remoteKeys({ allowLoopback: false });
    const cause = new FetchError(reason);
    expect(() => remote.jwks(url)).toThrow(new TypeError(`No keys can be fetched: ${reason}.`, { cause }));
  });

  test("plain http to 127.0.0.1 is refused unless a test allows it", () => {
    const remote = createRemoteKeys({ clock: testClock(), logger: keepingLogger(), bounds: PATIENT_BOUNDS });
    expect(() => remote.jwks("http://127.0.0.1/certs")).toThrow(TypeError);
  });

  test("there are at most 256", () => {
    const fetch = () => Promise.resolve({ status: 200, headers: {}, body: Buffer.from(JSON.stringify(keySet(key))) });
    const { remote } = remoteKeys({ fetch });
    const warned = vi.spyOn(process, "emitWarning");
    for (let at = 0; at < 256; at++) remote.jwks(`https://keys.example.com/${at}`);
    expect(() => remote.jwks("https://keys.example.com/256")).toThrow(
      new TypeError("More than 256 sets of keys are in use."),
    );
    expect(remote.jwks("https://keys.example.com/255")).toBeDefined();
    expect(warned).not.toHaveBeenCalled();
  });

  test("a private address is never asked, which refuses its tokens but not the configuration", async () => {
    const { remote, logger } = remoteKeys({ allowLoopback: false });
    const keys = remote.jwks("https://169.254.169.254/certs");
    const verified = await keys.verify("token", { issuer: [ISSUER], audience: AUDIENCE, now: 0 });
    expect(verified).toMatchObject({ ok: false, retryAfterSeconds: 5 });
    expect(logger.lines[0]![1]).toMatchObject({ reason: "its host has an address that is not public" });
  });
});

describe("certificates", () => {
  test("one is fetched and kept", async () => {
    const pem = new X509Certificate(makeCertificate({ commonName: "a" }).pem).toString();
    const server = await startKeyServer(text(pem));
    const { remote } = remoteKeys();
    expect(await remote.certificate(`${server.origin}/a.pem`)).toBe(pem);
    expect(remote.certificate(`${server.origin}/a.pem`)).toBe(pem);
  });

  test("bounds are those that are given", () => {
    const { remote } = remoteKeys({
      bounds: { ...PATIENT_BOUNDS, certificates: { ...CERTIFICATE_BOUNDS, maxFetches: 0 } },
    });
    expect(remote.certificate("https://a.example/a.pem")).toBeUndefined();
  });
});

describe("confirming", () => {
  test.each([200, 204, 299])("the URL is fetched once, and %i confirms", async (status) => {
    const server = await startKeyServer(text(status === 204 ? "" : "done", status));
    const { remote, logger } = remoteKeys();
    expect(await remote.confirm(`${server.origin}/confirm?token=secret`)).toBe(true);
    expect(server.asked).toEqual(["/confirm?token=secret"]);
    expect(logger.lines).toEqual([]);
  });

  test.each([400, 403, 500])("%i does not, and that is logged without the URL", async (status) => {
    const server = await startKeyServer(text("no", status));
    const { remote, logger } = remoteKeys();
    expect(await remote.confirm(`${server.origin}/confirm?token=secret`)).toBe(false);
    expect(logger.lines).toEqual([
      ["warn", { host: `127.0.0.1:${server.port}`, reason: `it answers with status ${status}` }, NOT_CONFIRMED],
    ]);
  });

  test("a redirect does not", async () => {
    const server = await startKeyServer(text("", 302));
    const { remote, logger } = remoteKeys();
    expect(await remote.confirm(server.origin)).toBe(false);
    expect(logger.lines[0]![1]).toMatchObject({ reason: "it answers with a redirect (302)" });
    expect(server.asked.length).toBe(1);
  });

  test.each([
    ["http://a.example/?token=secret", "a.example", "its URL does not begin with https://"],
    ["https://10.0.0.1/?token=secret", "10.0.0.1", "its host has an address that is not public"],
    ["secret", undefined, "its URL cannot be read"],
  ])("%s does not", async (url, host, reason) => {
    const { remote, logger } = remoteKeys();
    expect(await remote.confirm(url)).toBe(false);
    expect(logger.lines).toEqual([["warn", { host, reason }, NOT_CONFIRMED]]);
  });

  test("an error of an unknown kind does not, and is reported without its message", async () => {
    const { remote, logger } = remoteKeys({ fetch: () => Promise.reject(new Error("secret")) });
    expect(await remote.confirm("https://a.example/")).toBe(false);
    expect(logger.lines).toEqual([["warn", { host: "a.example", reason: "it could not be fetched" }, NOT_CONFIRMED]]);
  });
});

describe("closing", () => {
  test("fetches in progress are given up, and nothing is fetched any more", async () => {
    const server = await startKeyServer(silence);
    const { remote, logger } = remoteKeys();
    const keys = remote.jwks(`${server.origin}/certs`);
    const certificate = remote.certificate(`${server.origin}/a.pem`);
    const confirmed = remote.confirm(`${server.origin}/confirm`);
    await eventually(() => expect(server.asked.length).toBe(3));
    remote.close();
    expect(await certificate).toBeUndefined();
    expect(await confirmed).toBe(false);
    expect(logger.lines.map(([, fields]) => fields)).toEqual([
      { host: `127.0.0.1:${server.port}`, reason: "the gateway is closing" },
    ]);
    expect((await keys.verify("token", { issuer: [ISSUER], audience: AUDIENCE, now: 0 })).ok).toBe(false);
    expect(await remote.confirm(`${server.origin}/confirm`)).toBe(false);
    expect(server.asked.length).toBe(3);
  });
});
