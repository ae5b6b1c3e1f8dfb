import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";

/** Made by `scripts/console-page.ts`, beside this file in the bundle as well. */
const FOLDER = new URL("./page/", import.meta.url);

const TYPES: ReadonlyMap<string, readonly [file: string, type: string]> = new Map([
  ["", ["index.html", "text/html; charset=utf-8"]],
  ["console.js", ["console.js", "text/javascript; charset=utf-8"]],
  ["console.css", ["console.css", "text/css; charset=utf-8"]],
  ["favicon.svg", ["favicon.svg", "image/svg+xml"]],
]);

/** Nothing is loaded from elsewhere, nothing inline runs, and no text becomes markup. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

interface PageFile {
  readonly gzipped: Buffer;
  readonly plain: Buffer;
  readonly etag: string;
}

const loaded = new Map<string, Promise<PageFile>>();

/** Sends a file of the page; false when there is none of that name. Rejects when the page is not built. */
export async function sendPageFile(req: IncomingMessage, res: ServerResponse, name: string): Promise<boolean> {
  const entry = TYPES.get(name);
  if (entry === undefined) return false;
  const [file, type] = entry;
  const { plain, gzipped, etag } = await load(file);
  const headers = {
    "content-type": type,
    "cache-control": "no-cache",
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    // `no-referrer` makes browsers send `Origin: null` for a sign-in.
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    vary: "accept-encoding",
    etag,
  };
  if (req.headers["if-none-match"] === etag) {
    res.writeHead(304, headers).end();
    return true;
  }
  const isGzip = /\bgzip\b/u.test(req.headers["accept-encoding"] ?? "");
  const bytes = isGzip ? gzipped : plain;
  res.writeHead(200, {
    ...headers,
    ...(isGzip ? { "content-encoding": "gzip" } : {}),
    "content-length": bytes.length,
  });
  res.end(req.method === "HEAD" ? undefined : bytes);
  return true;
}

/** Read once, at the first request: most starts of a gateway never show the page. */
function load(file: string): Promise<PageFile> {
  const known = loaded.get(file);
  if (known !== undefined) return known;
  const reading = readFile(new URL(file, FOLDER)).then((plain) => ({
    plain,
    gzipped: gzipSync(plain),
    etag: `"${createHash("sha256").update(plain).digest("base64url").slice(0, 22)}"`,
  }));
  loaded.set(file, reading);
  reading.catch(() => loaded.delete(file));
  return reading;
}
