import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openCertificateFile, type StoredCertificate } from "../../../../src/auth/keys/certificate-file.ts";
import { recordingLogger } from "../../hosts/embedded/server/recording-logger.ts";
import { makeCertificate } from "./make-certificate.ts";

const { pem } = makeCertificate({ commonName: "sender" });
const stored: StoredCertificate = { url: "https://sender.example.com/cert.pem", pem, checkedAt: 1_000 };
const CANNOT_READ = "the file of certificates cannot be read; certificates are fetched again";

let folder: string;
let file: string;
let logger: ReturnType<typeof recordingLogger>;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "reveille-certificates-"));
  file = join(folder, "certificates.json");
  logger = recordingLogger();
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const written = (text: object | string): void =>
  writeFileSync(file, typeof text === "string" ? text : JSON.stringify(text));
const opened = async () => (await openCertificateFile(file, logger)).stored;

describe("the file of certificates", () => {
  it("is empty when it is missing, and says nothing of that", async () => {
    expect(await opened()).toEqual([]);
    expect(logger.lines).toEqual([]);
  });

  it("has what was saved last, for its owner alone, in the order of the calls", async () => {
    const certificates = await openCertificateFile(file, logger);
    certificates.save([]);
    certificates.save([stored, { ...stored, url: "https://other.example.com/", checkedAt: 2_000 }]);
    await vi.waitFor(async () => expect(await opened()).toHaveLength(2), 15_000);
    expect(await opened()).toEqual([stored, { ...stored, url: "https://other.example.com/", checkedAt: 2_000 }]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    certificates.save([stored]);
    await vi.waitFor(async () => expect(await opened()).toEqual([stored]), 15_000);
    expect(logger.lines).toEqual([]);
  });

  it.each([
    ["is no JSON", "{"],
    ["is of another version", { version: 2, certificates: [stored] }],
    ["has no version", { certificates: [stored] }],
    ["has no list", { version: 1, certificates: {} }],
    ["has a URL that is none", { version: 1, certificates: [stored, { ...stored, url: 1 }] }],
    ["has a certificate that is no text", { version: 1, certificates: [{ ...stored, pem: null }, stored] }],
    ["has a time that is no number", { version: 1, certificates: [{ ...stored, checkedAt: "1" }] }],
    ["has a certificate that is none", { version: 1, certificates: [{ ...stored, pem: "x" }] }],
    ["has a certificate with something behind it", { version: 1, certificates: [{ ...stored, pem: `${pem}x` }] }],
    ["has null in its list", { version: 1, certificates: [null] }],
  ])("counts as empty when it %s, and the log says so", async (_, text) => {
    written(text);
    expect(await opened()).toEqual([]);
    expect(logger.lines).toMatchObject([{ level: "warn", message: CANNOT_READ, fields: { file } }]);
  });

  it("counts as empty when it is larger than 8 MiB or no file", async () => {
    written(`{"version":1,"certificates":[]}${" ".repeat(8_388_608)}`);
    expect(await opened()).toEqual([]);
    rmSync(file);
    mkdirSync(file);
    expect(await opened()).toEqual([]);
    expect(logger.lines).toMatchObject([{ message: CANNOT_READ }, { message: CANNOT_READ }]);
  });

  it("logs that it cannot be written, and is written by the next call", async () => {
    const certificates = await openCertificateFile(file, logger);
    rmSync(folder, { recursive: true });
    certificates.save([stored]);
    const message = "certificates could not be stored; a restart fetches them again";
    const fields = { file, err: expect.any(Error) as Error };
    await vi.waitFor(() => expect(logger.lines).toMatchObject([{ level: "error", message, fields }]), 15_000);
    mkdirSync(folder);
    certificates.save([stored]);
    await vi.waitFor(() => expect(readFileSync(file, "utf8")).toContain(stored.url), 15_000);
  });
});
