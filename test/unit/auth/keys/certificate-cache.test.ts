import { X509Certificate } from "node:crypto";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { CERTIFICATE_BOUNDS, CertificateCache } from "../../../../src/auth/keys/certificate-cache.ts";
import type { CertificateCacheOptions } from "../../../../src/auth/keys/certificate-cache.ts";
import { openCertificateFile } from "../../../../src/auth/keys/certificate-file.ts";
import { createGuardedFetch, FetchError } from "../../../../src/http/guarded-fetch.ts";
import type { FetchedAnswer, GuardedFetch } from "../../../../src/http/guarded-fetch.ts";
import { eventually, keepingLogger, silence, startKeyServer, testClock, text } from "./key-server.ts";
import type { KeyServer } from "./key-server.ts";
import { makeCertificate } from "./make-certificate.ts";

type TestedOptions = Partial<CertificateCacheOptions>;

const CERTIFICATE = new X509Certificate(makeCertificate({ commonName: "sns.example.com" }).pem);
const PEM = CERTIFICATE.toString();
const NEW_PEM = new X509Certificate(makeCertificate({ commonName: "sns.example.com" }).pem).toString();
const DAY_MS = 86_400_000;
const NOT_FETCHED = "a sender's certificate was not fetched";

afterEach(() => {
  vi.useRealTimers();
});

function cacheWith(fetch: GuardedFetch, bounds: TestedOptions = {}) {
  const clock = testClock();
  const logger = keepingLogger();
  const closing = new AbortController();
  const close = () => closing.abort(new FetchError("closed"));
  onTestFinished(close);
  return {
    cache: new CertificateCache({ ...CERTIFICATE_BOUNDS, ...bounds, fetch, clock, logger, signal: closing.signal }),
    clock,
    logger,
    close,
  };
}

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "reveille-certificates-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

/** A cache in front of a server; how fast that is asked is not these tests' matter. */
async function servedCache(answer: KeyServer["answer"], bounds: TestedOptions = {}) {
  const server = await startKeyServer(answer);
  const fetch = createGuardedFetch({ allowLoopback: true, timeoutMs: 15_000 });
  return { server, url: `${server.origin}/a.pem`, ...cacheWith(fetch, { waitMs: 15_000, ...bounds }) };
}

/** A cache whose fetches a test answers one by one. */
function heldCache(bounds: TestedOptions = {}) {
  const held: { url: string; signal: AbortSignal; answer: (status: number, body?: string) => void }[] = [];
  const fetch: GuardedFetch = (url, { signal } = {}) =>
    new Promise<FetchedAnswer>((resolve) => {
      const answer = (status: number, body = "") => resolve({ status, headers: {}, body: Buffer.from(body) });
      held.push({ url, signal: signal!, answer });
    });
  return { held, ...cacheWith(fetch, bounds) };
}

describe("a certificate asked for the first time", () => {
  test("it is fetched and waited for", async () => {
    const { cache, url, server } = await servedCache(text(PEM));
    expect(await cache.get(url)).toBe(PEM);
    expect(server.asked).toEqual(["/a.pem"]);
  });

  test("from then on it is answered at once", async () => {
    const { cache, url, server } = await servedCache(text(PEM));
    await cache.get(url);
    expect(cache.get(url)).toBe(PEM);
    expect(server.asked.length).toBe(1);
  });

  test("of a chain only the first one is kept, without the text around it", async () => {
    const { cache, url } = await servedCache(text(`Bag Attributes\n${PEM}\n${NEW_PEM}`));
    expect(await cache.get(url)).toBe(PEM);
  });

  test("one in DER is answered as PEM", async () => {
    const { cache, url } = await servedCache((response) => response.end(CERTIFICATE.raw));
    expect(await cache.get(url)).toBe(PEM);
  });

  test("those who ask meanwhile wait for the same fetch", async () => {
    const { cache, url, server } = await servedCache(text(PEM));
    expect(await Promise.all([cache.get(url), cache.get(url), cache.get(url)])).toEqual([PEM, PEM, PEM]);
    expect(server.asked.length).toBe(1);
  });

  test("it is waited for at most 2 seconds, and kept when it comes later", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { cache, held } = heldCache();
    const settled = vi.fn<(pem: string | undefined) => void>();
    const asked = Promise.resolve(cache.get("https://a.example/a.pem")).then(settled);
    await vi.advanceTimersByTimeAsync(1999);
    expect(settled).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    await asked;
    expect(settled).toHaveBeenCalledExactlyOnceWith(undefined);
    held[0]!.answer(200, PEM);
    await vi.advanceTimersByTimeAsync(0);
    expect(cache.get("https://a.example/a.pem")).toBe(PEM);
  });

  test("URLs have their own certificates", async () => {
    const { cache, url, server } = await servedCache((response, request) => {
      response.end(request.url === "/a.pem" ? PEM : NEW_PEM);
    });
    expect(await cache.get(url)).toBe(PEM);
    expect(await cache.get(`${server.origin}/b.pem`)).toBe(NEW_PEM);
    expect(cache.get(url)).toBe(PEM);
  });
});

describe("a URL without a certificate", () => {
  const badAnswers: readonly [string, KeyServer["answer"], string][] = [
    ["nothing", text("", 404), "it is gone (status 404)"],
    ["nothing any more", text(PEM, 410), "it is gone (status 410)"],
    ["an error", text(PEM, 500), "it answers with status 500"],
    ["a page", text("<html>"), "it is no certificate"],
    ["a broken certificate", text(PEM.replace("MII", "MIJ")), "it is no certificate"],
    ["too much", text(PEM + "\n".repeat(65_537 - PEM.length)), "it is too large for a certificate"],
    ["a redirect", text("", 302), "it answers with a redirect (302)"],
  ];

  test.each(badAnswers)("%s is no certificate, and that is logged without the URL", async (_what, answer, reason) => {
    const { cache, server, logger } = await servedCache(answer);
    expect(await cache.get(`${server.origin}/a.pem?token=secret`)).toBeUndefined();
    expect(logger.lines).toEqual([["warn", { host: `127.0.0.1:${server.port}`, reason }, NOT_FETCHED]]);
  });

  test("65,536 bytes are not too much", async () => {
    const { cache, url } = await servedCache(text(PEM + "\n".repeat(65_536 - PEM.length)));
    expect(await cache.get(url)).toBe(PEM);
  });

  test("it is not asked again for 30 seconds", async () => {
    const { cache, url, server, clock } = await servedCache(text("", 500));
    await cache.get(url);
    server.answer = text(PEM);
    clock.nowMs += 29_999;
    expect(cache.get(url)).toBeUndefined();
    expect(server.asked.length).toBe(1);
    clock.nowMs += 1;
    expect(await cache.get(url)).toBe(PEM);
  });

  test("a URL that can be no certificate's is refused without an error", async () => {
    const { cache, logger } = cacheWith(createGuardedFetch());
    expect(await cache.get("no URL")).toBeUndefined();
    expect(await cache.get("http://a.example/a.pem")).toBeUndefined();
    expect(logger.lines.map(([, fields]) => fields)).toEqual([
      { host: undefined, reason: "its URL cannot be read" },
      { host: "a.example", reason: "its URL does not begin with https://" },
    ]);
  });

  test("one of more than 2,048 characters is not even remembered", () => {
    const { cache, held } = heldCache();
    const url = "https://a.example/".padEnd(2049, "a");
    expect(cache.get(url)).toBeUndefined();
    expect(held).toEqual([]);
    void cache.get(url.slice(0, 2048));
    expect(held.length).toBe(1);
  });

  test("an error of an unknown kind is reported without its message", async () => {
    const { cache, logger } = cacheWith(() => Promise.reject(new Error("secret")));
    expect(await cache.get("https://a.example/a.pem")).toBeUndefined();
    expect(logger.lines).toEqual([["warn", { host: "a.example", reason: "it could not be fetched" }, NOT_FETCHED]]);
  });

  test("so many are remembered, the oldest goes first", async () => {
    const { cache, server, clock } = await servedCache(text("", 404), { maxRefused: 2 });
    const ask = (path: string) => Promise.resolve(cache.get(server.origin + path));
    for (const path of ["/1", "/2", "/3"]) await ask(path);
    await ask("/2");
    await ask("/3");
    expect(server.asked).toEqual(["/1", "/2", "/3"]);
    await ask("/1");
    expect(server.asked).toEqual(["/1", "/2", "/3", "/1"]);
    clock.nowMs += 30_000;
    await ask("/3");
    await ask("/2");
    await ask("/3");
    expect(server.asked.slice(4)).toEqual(["/3", "/2"]);
  });
});

describe("what a caller can bring about by naming URLs", () => {
  test("so many fetches run at a time; further URLs have no certificate for now", async () => {
    const { cache, held } = heldCache();
    const asked = ["1", "2", "3", "4"].map((path) => cache.get(`https://a.example/${path}`));
    expect(cache.get("https://a.example/5")).toBeUndefined();
    expect(held.length).toBe(4);
    held[0]!.answer(200, PEM);
    expect(await asked[0]).toBe(PEM);
    expect(cache.get("https://a.example/5")).toBeInstanceOf(Promise);
    expect(held.length).toBe(5);
  });

  test("30 fetches are begun in a minute", async () => {
    const { cache, clock, server } = await servedCache(text("", 404));
    const ask = (at: number) => Promise.resolve(cache.get(`${server.origin}/${at}`));
    for (let at = 0; at < 31; at++) await ask(at);
    expect(server.asked.length).toBe(30);
    clock.nowMs += 59_999;
    await ask(31);
    expect(server.asked.length).toBe(30);
    clock.nowMs += 1;
    for (let at = 32; at < 63; at++) await ask(at);
    expect(server.asked.length).toBe(60);
  });

  test("a clock that is set back ends the minute, and the time of a URL that failed", async () => {
    const { cache, clock, server } = await servedCache(text("", 404));
    const ask = (at: number) => Promise.resolve(cache.get(`${server.origin}/${at}`));
    for (let at = 0; at < 31; at++) await ask(at);
    expect(server.asked.length).toBe(30);
    clock.nowMs -= 3_600_000;
    await ask(31);
    await ask(0);
    expect(server.asked.slice(30)).toEqual(["/31", "/0"]);
  });

  test("a client that uses up its share leaves that of others alone, and a host that of other hosts", async () => {
    const asked: string[] = [];
    const { cache } = cacheWith((url) => {
      asked.push(url);
      return Promise.resolve({ status: url.endsWith("real.pem") ? 200 : 404, headers: {}, body: Buffer.from(PEM) });
    });
    const ask = (url: string, client: string) => Promise.resolve(cache.get(url, client));
    for (let at = 0; at < 30; at++) await ask(`https://sns.example/${at}`, "192.0.2.1");
    expect(asked).toHaveLength(5);
    expect(await ask("https://sns.example/real.pem", "198.51.100.1")).toBe(PEM);
    for (let at = 30; at < 60; at++) await ask(`https://sns.example/${at}`, `203.0.113.${at}`);
    expect(asked).toHaveLength(30);
    expect(await ask("https://pay.example/real.pem", "198.51.100.1")).toBe(PEM);
  });

  test("64 certificates are kept, the one not asked for the longest goes first", async () => {
    const { cache, server, clock } = await servedCache(text(PEM));
    const url = (at: number) => `${server.origin}/${at}`;
    for (let at = 0; at < 64; at++) {
      clock.nowMs += 60_000;
      await cache.get(url(at));
    }
    expect(cache.get(url(0))).toBe(PEM);
    await cache.get(url(64));
    expect(cache.get(url(0))).toBe(PEM);
    expect(cache.get(url(2))).toBe(PEM);
    expect(server.asked.length).toBe(65);
    expect(cache.get(url(1))).toBeInstanceOf(Promise);
  });
});

describe("after a restart", () => {
  test("a certificate is known without a fetch, and one that is gone is not", async () => {
    const file = join(await temporaryFolder(), "certificates.json");
    const first = await openCertificateFile(file, keepingLogger());
    const { cache, url } = await servedCache(text(PEM), { file: first });
    await cache.get(url);
    await vi.waitFor(async () => expect(await readFile(file, "utf8")).toContain(url), 15_000);
    expect((await stat(file)).mode & 0o777).toBe(0o600);

    const second = await openCertificateFile(file, keepingLogger());
    const after = heldCache({ file: second });
    expect(after.cache.get(url)).toBe(PEM);
    expect(after.held).toEqual([]);
    after.clock.nowMs += DAY_MS + 1;
    void after.cache.get(url);
    after.held[0]!.answer(404);
    await vi.waitFor(async () => expect(await readFile(file, "utf8")).not.toContain(url), 15_000);
  });

  test.each(["", "{", '{"version":1,"certificates":[{"url":"https://a.example/","pem":"x","checkedAt":0}]}', "[null]"])(
    "a damaged file (%s) is empty, and that is logged",
    async (damaged) => {
      const file = join(await temporaryFolder(), "certificates.json");
      await writeFile(file, damaged);
      const logger = keepingLogger();
      expect((await openCertificateFile(file, logger)).stored).toEqual([]);
      expect(logger.lines).toHaveLength(1);
    },
  );
});

describe("a certificate that is known", () => {
  /** A cache that has the certificate at a URL. */
  async function knowingCache() {
    const url = "https://a.example/a.pem";
    const parts = heldCache();
    const first = parts.cache.get(url);
    parts.held[0]!.answer(200, PEM);
    await first;
    return { url, ...parts };
  }

  test("after a day it is fetched again in the background, and the old one is used meanwhile", async () => {
    const { cache, url, held, clock } = await knowingCache();
    clock.nowMs += DAY_MS;
    expect(cache.get(url)).toBe(PEM);
    expect(held.length).toBe(1);
    clock.nowMs += 1;
    expect(cache.get(url)).toBe(PEM);
    expect(held.length).toBe(2);
    held[1]!.answer(200, NEW_PEM);
    await eventually(() => expect(cache.get(url)).toBe(NEW_PEM));
    clock.nowMs += DAY_MS;
    expect(cache.get(url)).toBe(NEW_PEM);
    expect(held.length).toBe(2);
  });

  test("it stays when its server is down, and is tried again after 5 minutes", async () => {
    const { cache, url, held, clock, logger } = await knowingCache();
    clock.nowMs += DAY_MS + 1;
    expect(cache.get(url)).toBe(PEM);
    held[1]!.answer(503);
    await eventually(() => expect(logger.lines.length).toBe(1));
    await eventually(() => expect(cache.get(url)).toBe(PEM));
    clock.nowMs += 300_000;
    expect(cache.get(url)).toBe(PEM);
    expect(held.length).toBe(2);
    clock.nowMs += 1;
    expect(cache.get(url)).toBe(PEM);
    expect(held.length).toBe(3);
    held[2]!.answer(200, NEW_PEM);
    await eventually(() => expect(cache.get(url)).toBe(NEW_PEM));
  });

  test("that is one fetch, however many ask", async () => {
    const { cache, held, clock } = heldCache();
    const first = cache.get("https://a.example/a.pem");
    held[0]!.answer(200, PEM);
    await first;
    clock.nowMs += DAY_MS + 1;
    for (let again = 0; again < 5; again++) expect(cache.get("https://a.example/a.pem")).toBe(PEM);
    expect(held.length).toBe(2);
  });

  test("so many are refreshed at a time", async () => {
    const { cache, held, clock } = heldCache({ maxFetches: 2 });
    const urls = ["1", "2", "3"].map((path) => `https://a.example/${path}`);
    for (const url of urls) {
      const first = cache.get(url);
      held.at(-1)!.answer(200, PEM);
      await first;
    }
    clock.nowMs += DAY_MS + 1;
    for (const url of urls) expect(cache.get(url)).toBe(PEM);
    expect(held.slice(3).map(({ url }) => url)).toEqual(urls.slice(0, 2));
    held[3]!.answer(200, PEM);
    await eventually(() => {
      expect(cache.get(urls[2]!)).toBe(PEM);
      expect(held.length).toBe(6);
    });
  });

  test.each([404, 410])(
    "it is dropped when its server says that it is gone (%i), and not asked at once",
    async (status) => {
      const { cache, url, server, clock, logger } = await servedCache(text(PEM));
      await cache.get(url);
      clock.nowMs += DAY_MS + 1;
      server.answer = text("", status);
      expect(cache.get(url)).toBe(PEM);
      await eventually(() => expect(cache.get(url)).toBeUndefined());
      expect(server.asked.length).toBe(2);
      expect(logger.lines.at(-1)![1]).toMatchObject({ reason: `it is gone (status ${status})` });
    },
  );

  test("what its server answers instead of a certificate does not replace it", async () => {
    const { cache, url, server, clock, logger } = await servedCache(text(PEM));
    await cache.get(url);
    clock.nowMs += DAY_MS + 1;
    server.answer = text("<html>");
    expect(cache.get(url)).toBe(PEM);
    await eventually(() => expect(logger.lines.length).toBe(1));
    expect(cache.get(url)).toBe(PEM);
  });
});

describe("closing", () => {
  test("a fetch in progress is given up silently", async () => {
    const { cache, url, server, logger, close } = await servedCache(silence);
    const asked = cache.get(url);
    await eventually(() => expect(server.asked.length).toBe(1));
    close();
    expect(await asked).toBeUndefined();
    expect(logger.lines).toEqual([]);
  });

  test("every fetch gets the signal", () => {
    const { cache, held, close } = heldCache();
    void cache.get("https://a.example/a.pem");
    expect(held[0]!.signal.aborted).toBe(false);
    close();
    expect(held[0]!.signal.aborted).toBe(true);
  });
});
