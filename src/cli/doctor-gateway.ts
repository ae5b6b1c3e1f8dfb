/** The findings of `reveille doctor` about the running gateway and what it depends on. */
import { existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { reasonOf } from "../core/reason-of.ts";
import { CliError } from "./errors.ts";
import type { LocationOptions } from "./file-locations.ts";
import { askGateway, readStatus, type RunningStatus } from "./gateway-client.ts";
import type { CliGateway, GatewayAccess, ModelEndpoint, TriedConfinement, TriedModel } from "./gateway.ts";
import type { LoadedConfiguration } from "./load-configuration.ts";

/** One thing that `reveille doctor` has looked at. */
export interface DoctorFinding {
  /** `problem`: something that has to hold does not. */
  readonly level: "ok" | "warning" | "problem";
  readonly about:
    | "node"
    | "configuration"
    | "state folder"
    | "disk"
    | "gateway"
    | "public URL"
    | "deliveries"
    | "models"
    | "programs of agents"
    | "senders"
    | "subscriptions"
    | "transforms";
  readonly message: string;
  /** An isolation of transforms: the thing that a transform cannot do, and the means that prevent it. */
  readonly attempt?: { readonly cannot: string; readonly holds: boolean; readonly by: string };
}

const TIMEOUT_MS = 5_000;
/** More are not counted one by one. */
const MAX_COUNTED = 1_000;
const PAGE = 200;
/** Of the URLs of senders, so many are tried. */
const MAX_TRIED = 20;
const LOW_DISK_BYTES = 1_073_741_824;
const FULL_DISK_BYTES = 52_428_800;
const MIB = 1_048_576;

type Level = DoctorFinding["level"];

function finding(about: DoctorFinding["about"], level: Level, message: string): DoctorFinding {
  return { level, about, message };
}

/** Problems of a gateway that takes every call all the same. */
const WARNINGS: ReadonlySet<string> = new Set(["CONFIG_REFUSED", "GATEWAYS_DIFFER"]);

/** The gateway's own report: up, ready, the refused file, and deliveries that wait or have failed. Never rejects. */
export async function gatewayFindings(
  gateway: CliGateway,
  options: LocationOptions,
): Promise<readonly DoctorFinding[]> {
  let access: GatewayAccess;
  try {
    access = await gateway.access(options);
  } catch (error) {
    return [finding("gateway", "warning", `could not be asked: ${reasonOf(error)}`)];
  }
  const health = await fetched(`${access.url}/health`);
  if (typeof health === "string") return [finding("gateway", "warning", `none answers under ${access.url}: ${health}`)];
  const status = await readStatus(access);
  const problems = (status?.problems ?? []).map(({ code, message }) =>
    finding("gateway", WARNINGS.has(code) ? "warning" : "problem", message),
  );
  const issues = (status?.refused?.issues ?? []).map((issue) => finding("gateway", "warning", `refused: ${issue}`));
  return [
    finding("gateway", "ok", `answers under ${access.url}`),
    ...problems,
    ...issues,
    ...(await publicUrlFindings(access, status)),
    ...subscriptionFindings(status),
    ...(await countFindings(access)),
  ];
}

function subscriptionFindings(status: RunningStatus | undefined): readonly DoctorFinding[] {
  return (status?.subscriptions ?? []).map(({ name, server, event, mode, state, problem }) => {
    const what = `${name} (${event} of ${server})`;
    if (state === "active") return finding("subscriptions", "ok", `${what} is active by ${mode}`);
    return finding("subscriptions", state === "waiting" ? "warning" : "problem", `${what} is ${state}: ${problem}`);
  });
}

/** Calls the public URL with a question that the running gateway alone can answer. */
async function publicUrlFindings(
  access: GatewayAccess,
  status: RunningStatus | undefined,
): Promise<readonly DoctorFinding[]> {
  const exposed = status?.exposed ?? undefined;
  if (exposed !== undefined && exposed.url === null) {
    return [finding("public URL", "problem", `${exposed.via} gives none: ${exposed.problem}`)];
  }
  // Not every gateway has the endpoint.
  const asked = await askGateway<ReachabilityQuestion>(access, "/public-url", { method: "POST" }).catch(
    () => undefined,
  );
  if (asked === undefined || asked.url === null) return [];
  const { origin } = new URL(asked.url);
  const answer = await fetched(asked.url);
  if (typeof answer === "string") return [finding("public URL", "problem", `${origin} cannot be reached: ${answer}`)];
  const body: unknown = await answer.json().catch(() => undefined);
  if (typeof body === "object" && body !== null && "answer" in body && body.answer === asked.answer) {
    return [finding("public URL", "ok", `${origin} leads to this gateway`)];
  }
  const message = `${origin} does not lead to this gateway: its answer, ${answer.status}, is from elsewhere; check the tunnel or the proxy`;
  return [finding("public URL", "problem", message)];
}

/** The answer of `/api/v1/public-url`. */
interface ReachabilityQuestion {
  readonly url: string | null;
  readonly answer: string;
}

async function countFindings(access: GatewayAccess): Promise<readonly DoctorFinding[]> {
  try {
    const [failed, held, queued] = await Promise.all(
      ["open=true", "state=held", "state=queued"].map((query) => countOf(access, query)),
    );
    const isClear = failed === "0" && held === "0";
    const message = `${failed} failed and not replayed with success, ${held} held, ${queued} queued`;
    return [finding("deliveries", isClear ? "ok" : "warning", message)];
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return [finding("deliveries", "problem", error.message)];
  }
}

async function countOf(access: GatewayAccess, query: string): Promise<string> {
  let count = 0;
  let cursor: string | null = null;
  do {
    const from: string = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const page: { deliveries: readonly unknown[]; nextCursor: string | null } = await askGateway(
      access,
      `/deliveries?${query}&limit=${PAGE}${from}`,
    );
    count += page.deliveries.length;
    cursor = page.nextCursor;
  } while (cursor !== null && count < MAX_COUNTED);
  return cursor === null ? String(count) : `more than ${MAX_COUNTED}`;
}

/** The mappings that a start of this file would set aside, by name. */
export function setAsideFindings({ active }: LoadedConfiguration): readonly DoctorFinding[] {
  const { mappings, closed } = active.config;
  const all = closed === undefined ? [] : [finding("configuration", "problem", `hooks are closed: ${closed}`)];
  const each = mappings.flatMap(({ id, broken }) =>
    broken === undefined
      ? []
      : [finding("configuration", "problem", `${id} is set aside, and its calls are answered 503: ${broken}`)],
  );
  return [...all, ...each];
}

/** Calls the public URL of each sender: a gateway answers GET with an error of its own, and another server does not. */
export async function senderFindings({ active }: LoadedConfiguration): Promise<readonly DoctorFinding[]> {
  const { publicUrl, path, mappings } = active.config;
  const paths = mappings.filter(({ preset, auth }) => preset !== undefined && auth !== undefined);
  if (paths.length === 0) return [];
  if (publicUrl === undefined) {
    const message = "hooks.publicUrl is not set, so their URLs were not tried; set it to the address that senders call";
    return [finding("senders", "warning", message)];
  }
  const urls = [...new Set(paths.map(({ match }) => `${publicUrl}${path}/${match.path}`))];
  return Promise.all(urls.slice(0, MAX_TRIED).map(senderFinding));
}

async function senderFinding(url: string): Promise<DoctorFinding> {
  const answer = await fetched(url);
  if (typeof answer === "string") return finding("senders", "problem", `${url} cannot be reached: ${answer}`);
  const body: unknown = await answer.json().catch(() => undefined);
  const isOurs = answer.ok || (typeof body === "object" && body !== null && "code" in body && "ok" in body);
  if (isOurs && answer.status !== 404) return finding("senders", "ok", `${url} is reachable`);
  const message = `${url} is answered ${answer.status}, and not by this gateway; check the proxy in front of it`;
  return finding("senders", "problem", message);
}

/** What a gateway without programs to confine has no finding of. */
export function confinementFindings(tried: TriedConfinement | undefined): DoctorFinding[] {
  if (tried === undefined || tried.agents.length === 0) return [];
  const { agents, problem } = tried;
  if (problem === undefined) return [finding("programs of agents", "ok", "can be confined on this machine")];
  return [finding("programs of agents", "problem", `those of ${agents.join(", ")} do not start: ${problem}`)];
}

/** Asks each model's endpoint for its list of models, which costs nothing. */
export async function modelFindings(endpoints: readonly ModelEndpoint[]): Promise<readonly DoctorFinding[]> {
  return Promise.all(
    endpoints.map(async ({ name, url, headers }) => {
      const answer = await fetched(`${url.replace(/\/+$/u, "")}/models`, headers);
      if (typeof answer === "string") return finding("models", "problem", `${name} does not answer: ${answer}`);
      await answer.body?.cancel();
      const isRefused = answer.status === 401 || answer.status === 403;
      if (isRefused) return finding("models", "problem", `${name} refuses the API key (${answer.status})`);
      // Some endpoints have no such list.
      return finding("models", answer.status >= 500 ? "problem" : "ok", `${name} answers (${answer.status})`);
    }),
  );
}

/** The answer of each model to a request for one word, which costs a few tokens. */
export function liveFindings(tried: readonly TriedModel[]): readonly DoctorFinding[] {
  return tried.map(({ model, agents, problem, ms }) => {
    const whose = `${model} (${agents.join(", ")})`;
    if (problem === undefined) return finding("models", "ok", `${whose} answered in ${ms} ms`);
    return finding("models", "problem", `${whose} did not answer: ${problem}`);
  });
}

/** The room on the disk of the state folder, or of the nearest folder above it that is there. */
export async function diskFindings(stateDir: string): Promise<readonly DoctorFinding[]> {
  let folder = stateDir;
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const level: Level = free < FULL_DISK_BYTES ? "problem" : free < LOW_DISK_BYTES ? "warning" : "ok";
  return [finding("disk", level, `${Math.floor(free / MIB)} MiB are free for the state folder`)];
}

/** The answer, or why there is none. */
async function fetched(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Response | string> {
  try {
    return await fetch(url, { headers: { ...headers }, redirect: "manual", signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch (error) {
    return error instanceof Error && error.cause instanceof Error ? reasonOf(error.cause) : reasonOf(error);
  }
}
