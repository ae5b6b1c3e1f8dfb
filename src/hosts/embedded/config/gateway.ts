/** The configuration after the schema: defaults, secrets and the rules between keys. */
import { isIP } from "node:net";
import { homedir } from "node:os";
import { dirname, isAbsolute, resolve } from "node:path";
import ipaddr from "ipaddr.js";
import { compileClientAddress } from "../../../auth/client-address.ts";
import type { Findings } from "../../../config/errors.ts";
import { readSecrets } from "../../../config/secrets.ts";
import { showValue } from "../../../config/show-value.ts";
import { MIN_TOKEN_CHARACTERS } from "../../../config/token.ts";
import type { GatewayConfig, PluginsConfig } from "./file.ts";
import { API_PATH, CONSOLE_PATH, HEALTH_PATH, MCP_PATH, METRICS_PATH, READY_PATH } from "../server/routing-table.ts";
import type { GatewayFile } from "./schema.ts";
import { readAgents } from "./agents.ts";
import { canAsk, NO_ONE_TO_ASK } from "../../../config/permissions.ts";
import { listChannels } from "../channels.ts";
import { keepUsable, missingSecret, readModels, type SetAsideParts } from "./models.ts";
import { readChannels } from "./channels.ts";
import { readExpose } from "./expose.ts";
import { readMcp } from "./mcp.ts";
import { readSession } from "./session.ts";
import { readTelemetry } from "./telemetry.ts";
import { hooksUrlOf } from "./snapshot.ts";
import type { Environment } from "./substitute-env.ts";

interface BindAddress {
  readonly host: string;
  /** True when the address can be reached from this machine alone. */
  readonly loopbackOnly: boolean;
}

const BIND_NAMES: ReadonlyMap<string, BindAddress> = new Map([
  ["loopback", { host: "127.0.0.1", loopbackOnly: true }],
  ["localhost", { host: "127.0.0.1", loopbackOnly: true }],
  ["lan", { host: "0.0.0.0", loopbackOnly: false }],
]);

/** Reads `loopback`, `lan` or an IP address; `undefined` for anything else. */
export function readBindAddress(bind: string): BindAddress | undefined {
  const named = BIND_NAMES.get(bind);
  if (named !== undefined) return named;
  if (isIP(bind) === 0) return undefined;
  // `process` folds an IPv4-mapped address, which is as local as what it maps.
  return { host: bind, loopbackOnly: ipaddr.process(bind).range() === "loopback" };
}

/** The options of the command line, which override the file. */
export interface GatewayOverrides {
  /** `loopback`, `lan` or an address. */
  readonly host?: string | undefined;
  readonly port?: number | undefined;
}

export interface SectionsOptions {
  /** Absolute path of the file. */
  readonly file: string;
  readonly env: Environment;
  readonly overrides: GatewayOverrides;
  readonly findings: Findings;
  readonly setAside?: SetAsideParts | undefined;
}

const defaultPort = 18_789;
const defaultShutdownSeconds = 25;

/** What `{ file }` names, wherever a secret may be written. */
function secretFilesIn(value: unknown, configDir: string): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  const { file } = value as { readonly file?: unknown };
  const own = typeof file === "string" ? [resolve(configDir, file)] : [];
  return [...own, ...Object.values(value).flatMap((part) => secretFilesIn(part, configDir))];
}

/** Fills in defaults and resolves secrets; what is wrong goes to `findings`. */
export function readSections(written: GatewayFile, options: SectionsOptions): GatewayConfig {
  const { file, env, findings } = options;
  const context = { sources: { configDir: dirname(file), env }, findings, setAside: options.setAside };
  const bind = readBind(written.gateway?.bind, options);
  const models = readModels(written.models, context);
  const expose = readExpose(written.gateway?.expose, findings);
  const hasStrangers = !bind.loopbackOnly || (expose?.also.length ?? 0) > 0;
  refuseGatewayPath(written.hooks, findings);
  const authTokens = readTokens(written.gateway?.auth?.token, hasStrangers, options);
  const telemetry = readTelemetry(written.telemetry, context, {
    isMissing: (from, outcome) => missingSecret(from, context, outcome) !== undefined,
    tokensBefore: options.setAside?.before?.telemetry.metricsTokens ?? [],
  });
  const others = [...authTokens, ...telemetry.metricsTokens];
  const config: GatewayConfig = {
    file,
    gateway: {
      port: options.overrides.port ?? written.gateway?.port ?? defaultPort,
      ...bind,
      authTokens,
      mcp: readMcp(written.gateway?.mcp, { sources: context.sources, findings, others }),
      trustedProxies: readProxies(written.gateway?.trustedProxies ?? [], findings),
      expose,
      shutdownMs: Math.round((written.gateway?.shutdownSeconds ?? defaultShutdownSeconds) * 1_000),
    },
    agents: readAgents(written.agents, {
      ...context,
      providers: models.providers,
      configDir: dirname(file),
    }),
    models,
    session: readSession(written.session, findings),
    channels: readChannels(written.channels, context, {
      keep: keepUsable(context),
      before: options.setAside?.before?.channels,
    }),
    plugins: readPlugins(written.plugins, file),
    telemetry,
    hooks: written.hooks,
    secretFiles: secretFilesIn(written, dirname(file)),
  };
  refuseUnaskable(config, Object.keys(written.channels ?? {}), options);
  if (expose !== undefined && hooksUrlOf(config, undefined) !== undefined) {
    findings.warn("hooks.publicUrl", "is written, so it stays as it is, whatever URL the tool of gateway.expose gives");
  }
  return config;
}

/** The channel that takes the questions may be one that is set aside: then they wait in the console and the API. */
function refuseUnaskable(
  config: GatewayConfig,
  written: readonly string[],
  { findings, setAside }: SectionsOptions,
): void {
  const channels = listChannels(config);
  if (canAsk(channels)) return;
  const isSetAside = setAside && written.some((id) => id !== "console" && !channels.some((one) => one.id === id));
  for (const [at, { permissions }] of config.agents.list.entries()) {
    if (permissions !== "ask") continue;
    const where = `agents.list[${at}].permissions`;
    if (isSetAside) findings.warn(where, "asks, and the channel for its questions is set aside; they wait in the API");
    else findings.refuse(where, NO_ONE_TO_ASK);
  }
}

function readBind(written: string | undefined, { overrides, findings }: SectionsOptions): BindAddress {
  const bind = overrides.host ?? written ?? "loopback";
  const address = readBindAddress(bind);
  if (address !== undefined) return address;
  const where = overrides.host === undefined ? "gateway.bind" : "--host";
  findings.refuse(where, `${showValue(bind)} is not loopback, lan or an IP address`);
  return { host: "127.0.0.1", loopbackOnly: true };
}

type TokenFile = NonNullable<NonNullable<GatewayFile["gateway"]>["auth"]>["token"];

function readTokens(written: TokenFile, hasStrangers: boolean, { file, env, findings }: SectionsOptions): string[] {
  const where = "gateway.auth.token";
  if (written === undefined) {
    findings.refuse(where, "is required; make one with: openssl rand -hex 24");
    return [];
  }
  const tokens = readSecrets(written, where, { configDir: dirname(file), env }, findings);
  for (const { path, value } of tokens) {
    if (value.length < MIN_TOKEN_CHARACTERS && hasStrangers) {
      findings.refuse(
        path,
        `has fewer than ${MIN_TOKEN_CHARACTERS} characters, and more than this machine reaches the gateway; make a longer one with: openssl rand -hex 24`,
      );
    }
  }
  return tokens.map(({ value }) => value);
}

function readProxies(written: readonly string[], findings: Findings): readonly string[] {
  for (const [at, proxy] of written.entries()) {
    try {
      compileClientAddress([proxy]);
    } catch {
      findings.refuse(
        `gateway.trustedProxies[${at}]`,
        `${showValue(proxy)} is not an IP address or a CIDR block such as 10.0.0.0/8`,
      );
    }
  }
  return written;
}

function readPlugins(written: GatewayFile["plugins"], file: string): PluginsConfig {
  const entries = Object.entries(written?.entries ?? {});
  return {
    load: (written?.load?.paths ?? []).map((path) => resolvePath(path, dirname(file))),
    entries: new Map(entries.map(([id, { enabled = true, config }]) => [id, { enabled, config }])),
  };
}

function resolvePath(path: string, folder: string): string {
  if (path === "~" || path.startsWith("~/")) return resolve(homedir(), path.slice(2));
  return isAbsolute(path) ? path : resolve(folder, path);
}

/** The block is the ingress's, but these paths are the gateway's, and both cannot have them. */
function refuseGatewayPath(hooks: unknown, findings: Findings): void {
  const path = typeof hooks === "object" && hooks !== null && "path" in hooks ? hooks.path : undefined;
  if (typeof path !== "string") return;
  const bare = `/${path.trim().replaceAll(/^\/+|\/+$/gu, "")}`;
  const isBelow = [API_PATH, CONSOLE_PATH].some((path) => bare === path || bare.startsWith(`${path}/`));
  if ([HEALTH_PATH, READY_PATH, METRICS_PATH, MCP_PATH].includes(bare) || isBelow) {
    findings.refuse("hooks.path", `${showValue(path)} is a path of the gateway itself; write for example "/hooks"`);
  }
}
