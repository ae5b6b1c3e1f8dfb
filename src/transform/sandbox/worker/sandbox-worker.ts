/**
 * The program of a sandbox process: `node --permission ... sandbox-worker.ts`, with the protocol of
 * sandbox-messages.ts on file descriptor 3. Ends when the gateway closes it.
 *
 * Everything that the process needs is imported, and taken from its place, before the first module is
 * loaded. An error of a module that no one caught fails what is in progress, or is logged.
 */
import { writeSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { describeThrown, thrownText } from "../../loader/describe-error.ts";
import { captureConsole } from "./capture-console.ts";
import { confineProcess } from "./confine-process.ts";
import { GatewayChannel } from "./gateway-channel.ts";
import { guardHandles } from "./guard-handles.ts";
import { loadModules } from "./load-modules.ts";
import type { SandboxRequest } from "../messages.ts";
import { serveCalls } from "./serve-calls.ts";
import { CurrentWork } from "./current-work.ts";

const CHANNEL = 3;
const STDERR = 2;
/** The gateway bounds what it sends; this only keeps a length that makes no sense from being believed. */
const LIMITS = { maxJsonBytes: 1_073_741_824, maxBodyBytes: 1_073_741_824 };
const PARENT_CHECK_MS = 1_000;

const stringify = JSON.stringify.bind(JSON);
const writeBytes = writeSync;
const self = process;
const exit = (Reflect.get(process, "reallyExit") as (code: number) => never).bind(process);

function end(error?: unknown): void {
  if (error === undefined) exit(0);
  writeBytes(STDERR, `${thrownText(error)}\n`);
  exit(1);
}

async function run(): Promise<void> {
  const channel = new GatewayChannel(CHANNEL, LIMITS);
  const current = new CurrentWork();
  const parent = self.ppid;
  guardHandles();
  confineProcess({ process, global: globalThis, builtin: (name) => process.getBuiltinModule(name) });
  const captured = captureConsole({ console, process, write: (json) => channel.write(json) });
  syncBuiltinESMExports();
  let describe = (_error: unknown): string => "a module threw";
  process.on("uncaughtException", (error: unknown) => {
    if (!current.fail(error)) captured.report("error", `${describe(error)}, outside of a call`);
  });
  // Keeps the process up while a call waits for something, and ends one whose gateway was killed meanwhile.
  setInterval(() => {
    if (self.ppid !== parent) exit(0);
  }, PARENT_CHECK_MS);
  channel.write('{"is":"up"}');
  const frame = channel.read();
  if (frame === undefined) return end();
  const request = JSON.parse(frame.json) as SandboxRequest;
  if (request.do !== "load") throw new Error(`asked for ${request.do} before load`);
  const onLoading = (module: number): void => {
    captured.renew();
    channel.write(`{"is":"loading","module":${module}}`);
  };
  const { transforms, failures, loader } = await loadModules(request, { current, onLoading });
  // By hand, since a module may have given all objects a toJSON().
  const texts = failures.map(({ module, message }) => `{"module":${module},"message":${stringify(message)}}`);
  channel.write(`{"is":"loaded","failures":[${texts.join(",")}]}`);
  const { folder, maxResultBytes } = request;
  describe = (error) => describeThrown(error, { root: folder, positions: loader.positions });
  serveCalls({ channel, transforms, maxResultBytes, current, describe, onCall: captured.renew, onEnd: end });
}

run().catch(end);
