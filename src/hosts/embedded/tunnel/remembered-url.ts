/** The public URL that the tool gave last: until it gives one again, senders that sign it are checked by that. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ExposeConfig } from "../config/expose.ts";

const FILE = "public-url.json";
/** No such host exists (RFC 6761, 6.4). */
const UNKNOWN_URL = "https://public-url-is-not-known-yet.invalid";

/** The URL of that configuration: the one that is written, or the last one, or one of no host. */
export function rememberedUrl(stateDir: string, expose: ExposeConfig): string {
  if (expose.url !== undefined) return expose.url;
  try {
    const { tool, url } = JSON.parse(readFileSync(join(stateDir, FILE), "utf8")) as { tool?: unknown; url?: unknown };
    return tool === nameOf(expose) && typeof url === "string" && isWebUrl(url) ? url : UNKNOWN_URL;
  } catch {
    return UNKNOWN_URL;
  }
}

export async function rememberUrl(stateDir: string, expose: ExposeConfig, url: string): Promise<void> {
  const file = join(stateDir, FILE);
  await writeFile(`${file}.new`, JSON.stringify({ tool: nameOf(expose), url }), { mode: 0o600 });
  await rename(`${file}.new`, file);
}

function isWebUrl(url: string): boolean {
  return /^https?:$/u.test(URL.parse(url)?.protocol ?? "");
}

/** Another tool, or the same with other arguments, has another URL; the arguments may hold a secret. */
function nameOf({ via, words }: ExposeConfig): string {
  return createHash("sha256")
    .update(JSON.stringify([via, words]))
    .digest("base64url");
}
