/** How commands reach the API of the running gateway. */
import { CliError } from "./errors.ts";
import type { GatewayAccess } from "./gateway.ts";

export interface GatewayRequest {
  readonly method?: "GET" | "POST";
  /** Sent as JSON. */
  readonly body?: object;
}

/** Asks the API; `path` is below its prefix. Rejects with a {@link CliError} that says what the gateway said. */
export async function askGateway<Body>(
  access: GatewayAccess,
  path: string,
  request: GatewayRequest = {},
): Promise<Body> {
  return (await (await answerOf(access, path, request)).json()) as Body;
}

/** The same for an answer that is not JSON. */
export async function askGatewayForBytes(access: GatewayAccess, path: string): Promise<Uint8Array> {
  return new Uint8Array(await (await answerOf(access, path, {})).arrayBuffer());
}

async function answerOf({ apiUrl, token }: GatewayAccess, path: string, request: GatewayRequest): Promise<Response> {
  const { method = "GET", body } = request;
  const response = await fetched(`${apiUrl}${path}`, {
    method,
    redirect: "manual",
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new CliError(await refusalText(response, path));
  return response;
}

async function fetched(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    throw new CliError(`The gateway does not answer under ${originOf(url)}: ${cause}. Is it running?`);
  }
}

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : url;
}

async function refusalText(response: Response, path: string): Promise<string> {
  const said = await response.json().catch(() => undefined);
  const error = typeof said === "object" && said !== null && "error" in said ? said.error : undefined;
  return typeof error === "string"
    ? `The gateway answered ${response.status}: ${error}`
    : `The gateway's API answered ${response.status} to ${path.split("?")[0]}.`;
}
