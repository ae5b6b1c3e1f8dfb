/** `reveille serve`. */
import { EmbeddedGateway } from "../hosts/embedded/gateway.ts";
import type { EndSignal } from "./end-signals.ts";
import { EXIT_CODES } from "./exit-codes.ts";
import type { CliIo } from "./io.ts";
import { isThere, type LocationOptions } from "./file-locations.ts";
import { curlLine, writeFirstConfig } from "./init-command.ts";
import type { FirstTokens } from "./init-command.ts";
import type { ChannelMessage } from "../core/host.ts";
import { IdleMemory } from "./idle-memory.ts";
import { ProgressBar } from "./progress-bar.ts";
import { printable, printableLines } from "./terminal-text.ts";

export interface ServeOptions extends LocationOptions {
  readonly host?: string;
  readonly port?: number;
  readonly strict?: boolean;
  readonly acceptLoss?: boolean;
  readonly compact?: boolean;
  readonly json?: boolean;
}

/**
 * Ctrl-C under npm arrives twice, from the terminal and from npm: what follows so closely is the same one.
 * npm may be slow to pass it on; a person who is in a hurry presses it again.
 */
const echoMs = 2_000;

/**
 * Runs a gateway until SIGTERM or SIGINT, and then stops it in order; a second signal that is no
 * echo ends the process at once, and SIGHUP reads the configuration again. Resolves with the exit code. Without
 * a configuration, one is written first and a call that it answers is shown.
 */
export async function serve(options: ServeOptions, io: CliIo): Promise<number> {
  const { configFile, stateDir } = io.gateway.locate(options);
  const first = isThere(configFile) ? undefined : writeFirstConfig(configFile);
  if (first !== undefined) io.err(`A configuration with fresh tokens was written to ${configFile}\n`);
  const logger = await io.createLogger();
  const { host, port, strict, acceptLoss, compact, json = false } = options;
  const isForPeople = io.isTerminal && !json;
  const signals = new Signals(io, (error) => {
    logger.error({ err: error }, "the gateway failed and ends; accepted calls are on disk");
    void logger.flush().finally(() => {
      io.exit(1);
    });
  });
  const memory = new IdleMemory();
  const hooksUrl = new HooksUrlLine(io, json);
  const bar = new ProgressBar(io, json);
  try {
    const gateway = await EmbeddedGateway.start({
      configFile,
      stateDir,
      host,
      port,
      strict,
      acceptLoss,
      compact,
      onUpdate: (step) => bar.show(step),
      logger,
      env: io.env,
      onHooksUrl: (url) => hooksUrl.show(url),
      print: isForPeople ? (message) => io.out(consoleText(message)) : undefined,
    });
    bar.end();
    if (first !== undefined) io.err(firstSteps(gateway.url, first));
    io.out(json ? `${JSON.stringify({ url: gateway.url })}\n` : `Reveille is listening on ${gateway.url}\n`);
    hooksUrl.begin();
    if (isForPeople) io.out(`Console, good for one sign-in within 60 seconds: ${gateway.createConsoleLink()}\n`);
    await signals.untilStop(() => void gateway.reload());
    logger.info({}, "shutting down");
    await gateway.stop();
    return EXIT_CODES.success;
  } finally {
    bar.end();
    memory.stop();
    signals.forget();
    await logger.flush();
  }
}

/** Says where senders reach the hooks, after the line that programs wait for. */
class HooksUrlLine {
  readonly #io: CliIo;
  readonly #isJson: boolean;
  #hasBegun = false;
  #url: string | undefined;

  constructor(io: CliIo, isJson: boolean) {
    this.#io = io;
    this.#isJson = isJson;
  }

  begin(): void {
    this.#hasBegun = true;
    if (this.#url !== undefined) this.show(this.#url);
  }

  show(url: string): void {
    this.#url = url;
    if (!this.#hasBegun) return;
    this.#io.out(this.#isJson ? `${JSON.stringify({ hooksUrl: url })}\n` : `Senders reach the hooks under ${url}\n`);
  }
}

/** A reply is private: it is printed for a person, and not into a file or a journal. */
function consoleText({ to, text }: ChannelMessage): string {
  const lines = printableLines(text.trim()).split("\n");
  return `${[`[console] to ${printable(to)}:`, ...lines.map((line) => `  ${line}`)].join("\n")}\n`;
}

/** For people; the log beside it is for machines. */
function firstSteps(url: string, tokens: FirstTokens): string {
  return `
No model is configured, so a built-in agent answers offline. In another terminal, set both tokens:

export HOOK_TOKEN=${tokens.hookToken} GATEWAY_TOKEN=${tokens.gatewayToken}

Make a call:

${curlLine(url, tokens)}

and read its outcome:

curl -H 'Authorization: Bearer ${tokens.gatewayToken}' ${url}/api/v1/deliveries

`;
}

/** The signals of a process, from its beginning: one that comes while the gateway starts is not lost. */
class Signals {
  readonly #io: CliIo;
  readonly #listeners: readonly (readonly [string, (value: unknown) => void])[];
  readonly #stop = Promise.withResolvers<void>();
  #stoppingSince: number | undefined;
  #onReload = (): void => {};

  constructor(io: CliIo, onFailure: (error: unknown) => void) {
    this.#io = io;
    this.#listeners = [
      [
        "SIGTERM",
        () => {
          this.#stopOrExit("SIGTERM");
        },
      ],
      [
        "SIGINT",
        () => {
          this.#stopOrExit("SIGINT");
        },
      ],
      [
        "SIGHUP",
        () => {
          this.#onReload();
        },
      ],
      ["uncaughtException", onFailure],
    ];
    for (const [name, listener] of this.#listeners) io.signals.on(name, listener);
  }

  async untilStop(onReload: () => void): Promise<void> {
    this.#onReload = onReload;
    await this.#stop.promise;
  }

  forget(): void {
    for (const [name, listener] of this.#listeners) this.#io.signals.off(name, listener);
  }

  #stopOrExit(signal: EndSignal): void {
    const now = performance.now();
    this.#stoppingSince ??= now;
    if (now - this.#stoppingSince > echoMs) this.#io.exit(EXIT_CODES[signal]);
    this.#stop.resolve();
  }
}
