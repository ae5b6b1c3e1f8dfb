/** The commands' client of the running gateway's API. */
import { AnswerError, CliError } from "./errors.ts";
import type { GatewayAccess, GatewayCommandOptions } from "./gateway.ts";
import type { CliIo } from "./io.ts";
import { printable } from "./terminal-text.ts";

export interface GatewayRequest {
  readonly method?: "GET" | "POST" | "DELETE";
  /** Sent as JSON. */
  readonly body?: object;
}

/** The answer of `/api/v1/status`; see `src/hosts/embedded/status.ts`. */
export interface RunningStatus {
  readonly ready: boolean;
  readonly problems: readonly { readonly code: string; readonly message: string }[];
  readonly refused: { readonly at: string; readonly issues: readonly string[] } | null;
  readonly freeDiskBytes: number | null;
  /** Absent from a gateway that starts no tool. */
  readonly exposed?: { readonly via: string; readonly url: string | null; readonly problem: string | null } | null;
  /** Absent from a gateway that subscribes to nothing. */
  readonly subscriptions?: readonly {
    readonly name: string;
    readonly server: string;
    readonly event: string;
    readonly mode: string | null;
    readonly state: string;
    readonly problem: string | null;
  }[];
}

const STATUS_TIMEOUT_MS = 5_000;
/** So that the notice comes before the end of the question. */
const LATE_BEFORE_MS = 100;
const ISSUE_CHARS = 300;

/**
 * Connects to the running gateway. Prints on standard error when that gateway has refused the file:
 * what a command shows comes from the configuration before.
 */
export async function reachGateway(options: GatewayCommandOptions, io: CliIo): Promise<GatewayAccess> {
  const access = await io.gateway.access(options);
  const late = setTimeout(() => {
    io.err(`${originOf(access.url)} has not answered for ${STATUS_TIMEOUT_MS / 1_000} seconds; it is waited for.\n`);
  }, STATUS_TIMEOUT_MS - LATE_BEFORE_MS);
  const status = await readStatus(access).finally(() => clearTimeout(late));
  const refused = status?.refused ?? undefined;
  if (refused !== undefined) {
    io.err(
      `The running gateway refused the file at ${refused.at.slice(0, 19)}Z and uses the configuration before it:\n`,
    );
    for (const issue of refused.issues) io.err(`  ${printable(issue, ISSUE_CHARS)}\n`);
  }
  return access;
}

/** `undefined` when there is no answer, or the gateway has no such path: the command itself says so if it matters. */
export async function readStatus({ apiUrl, token }: GatewayAccess): Promise<RunningStatus | undefined> {
  try {
    const response = await fetch(`${apiUrl}/status`, {
      redirect: "manual",
      signal: AbortSignal.timeout(STATUS_TIMEOUT_MS),
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    });
    return response.ok ? ((await response.json()) as RunningStatus) : undefined;
  } catch {
    return undefined;
  }
}

/** Asks the API; `path` is below its prefix. Rejects with a {@link CliError} that says what the gateway said. */
export async function askGateway<Body>(
  access: GatewayAccess,
  path: string,
  request: GatewayRequest = {},
): Promise<Body> {
  const response = await answerOf(access, path, request);
  try {
    return (await response.json()) as Body;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new CliError(
      `What answers under ${originOf(access.apiUrl)} is no gateway: its answer is not JSON. Is --url right, or gateway.port?`,
    );
  }
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
  if (!response.ok) throw new AnswerError(await refusalText(response, path), response.status);
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
