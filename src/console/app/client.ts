import { signal } from "@preact/signals";

/** False until the gateway accepts the cookie of this browser. */
export const isSignedIn = signal(true);

/** Sign-ins of this page: an answer to a request from before the latest says nothing of it. */
let signIns = 0;

/** An answer that is an error; the message is the gateway's own sentence. */
class RequestError extends Error {
  override readonly name = "RequestError";
}

/** Reads from the gateway; `path` is below the console's own data. */
export async function read<Body>(path: string): Promise<Body> {
  return (await (await request(path, { method: "GET" })).json()) as Body;
}

/** Reads bytes as text, of which at most `maxBytes` are kept. */
export async function fetchText(path: string): Promise<string> {
  return await (await request(path, { method: "GET" })).text();
}

export async function sendRequest<Body>(path: string, body: object = {}, method = "POST"): Promise<Body> {
  const headers = { "x-reveille-console": "1", "content-type": "application/json" };
  const init = method === "DELETE" ? { method, headers } : { method, headers, body: JSON.stringify(body) };
  return (await (await request(path, init)).json()) as Body;
}

async function request(path: string, init: RequestInit): Promise<Response> {
  const asked = signIns;
  const response = await fetch(`api/${path}`, init).catch(() => {
    throw new RequestError("The gateway does not answer. Is it running?");
  });
  if (response.ok && path === "sign-in") signIns++;
  if (response.ok) return response;
  if (response.status === 401 && path !== "sign-in" && asked === signIns) isSignedIn.value = false;
  const said = (await response.json().catch(() => ({}))) as { readonly error?: string };
  throw new RequestError(said.error ?? `The gateway answered ${response.status}.`);
}

export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
