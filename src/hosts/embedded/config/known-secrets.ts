/** Every secret that a configuration gives the gateway, so that none of them leaves it. */
import type { OwnChannelConfig } from "./own-channel.ts";
import type { GatewayConfig } from "./file.ts";
import type { ProgramConfig } from "./runtime.ts";

/** Headers and variables with such a name hold a secret; others are words such as `application/json`. */
const SECRET_NAME = /auth|cookie|credential|key|passw|secret|token/iu;
/** The path of a URL that is itself the secret of an incoming webhook. */
const MIN_PATH = 16;

/** The secrets of a configuration, and of the variables that it passes on to programs. */
export function knownSecrets(config: GatewayConfig, env: NodeJS.ProcessEnv = process.env): string[] {
  const { gateway, models, channels, agents, telemetry } = config;
  const servers = agents.list.flatMap(({ tools }) => [...(tools?.servers.values() ?? [])]);
  const programs = [
    ...agents.list.flatMap(({ runtime }) => runtime ?? []),
    ...servers.flatMap((server) => ("program" in server ? [server.program] : [])),
  ];
  const found = [
    ...gateway.authTokens,
    ...gateway.mcp.readTokens,
    ...gateway.mcp.writeTokens,
    ...[...models.providers.values()].flatMap(({ apiKey, headers }) => [apiKey, ...ofHeaders(headers)]),
    channels.webhook?.secret,
    ...[...channels.own.values()].flatMap(ofChannel),
    ...servers.flatMap((server) => ("url" in server ? ofHeaders(server.headers) : [])),
    ...programs.flatMap((program) => ofVariables(program, env)),
    ...ofVariables({ env: gateway.expose?.env ?? [] }, env),
    ...telemetry.metricsTokens,
    ...ofHeaders(telemetry.otlp?.headers ?? {}),
  ];
  return [...new Set(found.filter((secret) => secret !== undefined && secret !== ""))] as string[];
}

function ofHeaders(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    // A template has the secret of its channel.
    SECRET_NAME.test(name) && !value.includes("{{") ? [value] : [],
  );
}

function ofChannel(channel: OwnChannelConfig): (string | undefined)[] {
  if (channel.kind !== "http") return [channel.secret];
  const { pathname = "", search = "" } = URL.parse(channel.url) ?? {};
  const path = `${pathname}${search}`;
  const isSecret = channel.hidden.includes(channel.url) && path.length >= MIN_PATH && !path.includes("{{");
  return [channel.secret, ...ofHeaders(channel.headers), ...(isSecret ? [path] : [])];
}

function ofVariables({ env: names }: Pick<ProgramConfig, "env">, env: NodeJS.ProcessEnv): (string | undefined)[] {
  return names.filter((name) => SECRET_NAME.test(name)).map((name) => env[name]);
}
