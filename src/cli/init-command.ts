/** `reveille init`. */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { ConfigExistsError } from "./errors.ts";
import type { CliIo } from "./io.ts";
import type { LocationOptions } from "./file-locations.ts";
import { makeFolder, ownerAt, privateMode, replaceFile, writeNew } from "./replace-file.ts";

/** Fresh random tokens. */
export interface FirstTokens {
  readonly gatewayToken: string;
  readonly hookToken: string;
}

const tokenBytes = 24;

/**
 * Writes a configuration with fresh tokens, with mode 0600 in a folder with mode 0700. An existing
 * file is replaced only with `force`, and keeps its owner and group; otherwise throws a {@link ConfigExistsError}. What root writes
 * belongs to the owner of the file or its folder: the gateway may run as that user.
 */
export function writeFirstConfig(file: string, { force = false }: { force?: boolean } = {}): FirstTokens {
  const tokens = { gatewayToken: newToken(), hookToken: newToken() };
  makeFolder(dirname(file), ownerAt(dirname(file)));
  const text = configText(tokens);
  if (force && existsSync(file)) {
    replaceFile(file, { before: readFileSync(file, "utf8"), after: text, mode: privateMode(statSync(file)) });
    return tokens;
  }
  // A link that leads nowhere is there as well.
  if (force) rmSync(file, { force: true });
  createFile(file, text);
  return tokens;
}

/** A call that the new configuration answers with 202, ready to be pasted into a shell. */
export function curlLine(url: string, { hookToken }: Pick<FirstTokens, "hookToken">): string {
  const headers = [`Authorization: Bearer ${hookToken}`, "Content-Type: application/json"];
  const options = headers.map((header) => `-H '${header}'`).join(" ");
  return `curl -X POST ${url}/hooks/agent ${options} -d '{"message":"Say hello.","name":"First call"}'`;
}

function newToken(): string {
  return randomBytes(tokenBytes).toString("hex");
}

function createFile(file: string, text: string): void {
  try {
    writeNew(file, text, { mode: 0o600, ...ownerAt(dirname(file)) });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    throw new ConfigExistsError(`${file} exists already; use --force to replace it.`, { cause: error });
  }
}

function configText({ gatewayToken, hookToken }: FirstTokens): string {
  return `// Configuration of Reveille's embedded gateway. Changes take effect as soon as the file is saved.
// "\${NAME}" is replaced from the environment; a secret may also be { env: "NAME" } or { file: "path" }.
{
  gateway: {
    port: 18789,
    // "lan" or an address: then put a reverse proxy with TLS in front of it.
    bind: "loopback",
    // For the API: curl -H 'Authorization: Bearer <token>' http://127.0.0.1:18789/api/v1/sessions
    auth: { token: "${gatewayToken}" },
  },

  agents: {
    defaults: {
      // Without a model a built-in agent answers offline. For a real one, name it and its provider below:
      // model: "local/llama3.2",
      heartbeat: { every: "30m" },
    },
  },

  // Any OpenAI-compatible endpoint:
  // models: { providers: { local: { baseUrl: "http://127.0.0.1:11434/v1" } } },

  channels: {
    console: { enabled: true },
    // Replies where you read them: docs/use/channels.md has Slack, Discord, ntfy, mail and others.
    // telegram: { preset: "telegram", secret: { env: "TELEGRAM_BOT_TOKEN" }, to: "<your chat's id>" },
  },

  hooks: {
    enabled: true,
    token: "${hookToken}",
    // Runs of one session follow one another. Leave this out to give every call a session of its own.
    defaultSessionKey: "hook:ingress",
    // Agents that callers may name.
    allowedAgentIds: ["main"],
    // presets: ["gmail"],
    // mappings: [
    //   {
    //     match: { path: "deploy" },
    //     name: "Deploy",
    //     instructions: "Say what is new in this version.",
    //     messageTemplate: "Deployed {{version}}.",
    //   },
    // ],
  },
}
`;
}

export interface InitOptions extends LocationOptions {
  readonly force?: boolean;
  readonly json?: boolean;
}

/** The address on which the written configuration listens. */
const defaultUrl = "http://127.0.0.1:18789";

/** Writes a configuration with fresh tokens and shows a call that it will answer. */
export function init({ force = false, json = false, ...options }: InitOptions, io: CliIo): void {
  const { configFile } = io.gateway.locate(options);
  const tokens = writeFirstConfig(configFile, { force });
  if (json) {
    io.out(`${JSON.stringify({ file: configFile, call: curlLine(defaultUrl, tokens) }, undefined, 2)}\n`);
    return;
  }
  io.out(`A configuration with fresh tokens was written to ${configFile}\n`);
  io.out(`Once the gateway runs, it answers:\n\n${curlLine(defaultUrl, tokens)}\n`);
}
