/** Calls as senders make them, over a real socket. */
import { createHmac } from "node:crypto";
import type { RunningGateway } from "./running-gateway.ts";

export const GITHUB_SECRET = "secret-of-the-github-tests-4f1d";

export interface SenderAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Sends exactly these bytes without any hook token. */
export async function call(
  gateway: RunningGateway,
  path: string,
  init: { method?: string; headers?: Readonly<Record<string, string>>; body?: string | Uint8Array } = {},
): Promise<SenderAnswer> {
  const { method = "POST", headers = {}, body } = init;
  const response = await fetch(`${gateway.url}${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : new Uint8Array(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson && text !== "" ? (JSON.parse(text) as SenderAnswer["body"]) : {},
  };
}

export function hmac(secret: string, content: string | Uint8Array, encoding: "hex" | "base64" = "hex"): string {
  return createHmac("sha256", secret).update(content).digest(encoding);
}

let deliveries = 0;

/** The headers of a GitHub event with that body. */
export function githubHeaders(
  body: string,
  { event = "push", secret = GITHUB_SECRET, id = `delivery-${++deliveries}` } = {},
): Record<string, string> {
  return {
    "content-type": "application/json",
    "x-github-event": event,
    "x-github-delivery": id,
    "x-hub-signature-256": `sha256=${hmac(secret, body)}`,
  };
}

/** A push to a repository of that name, by that login. */
export function pushOf(name: string, login = "ada", type = "User"): string {
  return JSON.stringify({
    ref: "refs/heads/main",
    repository: { full_name: `acme/${name}`, html_url: `https://github.example.com/acme/${name}` },
    sender: { login, type, id: 7 },
    pusher: { name: login },
    commits: [{ id: "0123456789abcdef", message: "Fix it", author: { name: login } }],
    head_commit: { message: "Fix it" },
  });
}

/** A GitHub event, signed. */
export function github(
  gateway: RunningGateway,
  body: string,
  options: Parameters<typeof githubHeaders>[1] & { path?: string } = {},
): Promise<SenderAnswer> {
  return call(gateway, options.path ?? "/hooks/github", { headers: githubHeaders(body, options), body });
}
