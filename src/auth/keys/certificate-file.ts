import { X509Certificate } from "node:crypto";
import type { Logger } from "../../core/host.ts";
import { readBoundedFile, writePrivateFile } from "./private-file.ts";

/** Name of the file in the state directory that holds the certificates of senders. */
export const CERTIFICATES_FILE = "sender-certificates.json";

export interface StoredCertificate {
  readonly url: string;
  readonly pem: string;
  /** The time when it was fetched or last tried again; milliseconds since the epoch. */
  readonly checkedAt: number;
}

/** Certificates that outlive a restart. */
export interface CertificateFile {
  /** The certificates of the file when it was opened, in its order. */
  readonly stored: readonly StoredCertificate[];
  /** Replaces the file in the background; a failure is logged, and the next call writes again. */
  save(certificates: readonly StoredCertificate[]): void;
}

const MAX_FILE_BYTES = 8_388_608;
const VERSION = 1;

/** Opens the file. A missing or damaged one is empty: its certificates are fetched again. */
export async function openCertificateFile(file: string, logger: Logger): Promise<CertificateFile> {
  const stored = await readBoundedFile(file, MAX_FILE_BYTES).then(
    (text) => (text === undefined ? [] : certificatesIn(text)),
    () => undefined,
  );
  if (stored === undefined) {
    logger.warn({ file }, "the file of certificates cannot be read; certificates are fetched again");
  }
  let next: readonly StoredCertificate[] | undefined;
  let writing: Promise<void> | undefined;

  async function write(): Promise<void> {
    for (let certificates = next; certificates !== undefined; certificates = next) {
      next = undefined;
      try {
        await writePrivateFile(file, `${JSON.stringify({ version: VERSION, certificates })}\n`);
      } catch (error) {
        logger.error({ err: error, file }, "certificates could not be stored; a restart fetches them again");
      }
    }
    writing = undefined;
  }

  return {
    stored: stored ?? [],
    save(certificates) {
      next = certificates;
      writing ??= write();
    },
  };
}

/** `undefined` for a text that {@link openCertificateFile} has not written. */
function certificatesIn(text: string): readonly StoredCertificate[] | undefined {
  try {
    const { version, certificates } = JSON.parse(text) as { version?: unknown; certificates?: unknown };
    if (version !== VERSION || !Array.isArray(certificates)) return undefined;
    return certificates.every((each) => isStored(each)) ? certificates : undefined;
  } catch {
    return undefined;
  }
}

function isStored(value: unknown): value is StoredCertificate {
  const { url, pem, checkedAt } = value as Partial<Record<keyof StoredCertificate, unknown>>;
  if (typeof url !== "string" || typeof pem !== "string" || typeof checkedAt !== "number") return false;
  return new X509Certificate(pem).toString() === pem;
}
