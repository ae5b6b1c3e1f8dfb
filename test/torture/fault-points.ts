/**
 * Preloaded by `node --import`, in every thread: puts the fault points around the product's own functions,
 * so that the product has no line for them. The process kills itself with SIGKILL at the step, moment and
 * time that the environment variable `REVEILLE_FAULT` names: `settle:before:3`.
 */
import { ServerResponse } from "node:http";
import { registerHooks, syncBuiltinESMExports } from "node:module";
import workerThreads, { isMainThread, Worker } from "node:worker_threads";
import type { WorkerOptions } from "node:worker_threads";
import { STAGES } from "./fault-steps.ts";
import { fatalStep, faulty } from "./faulty.ts";
import type { Step } from "./faulty.ts";

if (isMainThread) {
  // First of all: what is loaded from here on may load the stages.
  replaceStages();
  const { SqliteDeliveryStore } = await import("../../src/storage/sqlite/delivery-store.ts");
  const { PostgresDeliveryStore } = await import("../../src/storage/postgres/delivery-store.ts");
  const { OwnerConnection } = await import("../../src/storage/postgres/engine/owner-connection.ts");
  const { EmbeddedSessions } = await import("../../src/hosts/embedded/sessions.ts");
  const { EmbeddedAgents } = await import("../../src/hosts/embedded/agents.ts");
  const { EmbeddedChannels } = await import("../../src/hosts/embedded/channels.ts");
  const { EmbeddedHeartbeat } = await import("../../src/hosts/embedded/heartbeat.ts");
  for (const store of [SqliteDeliveryStore, PostgresDeliveryStore]) {
    wrap("gathered", store, "stopCoalescing");
    wrap("begin", store, "beginAttempt");
    wrap("end", store, "endAttempt");
    wrap("postpone", store, "postpone");
    wrap("step", store, "recordStep");
    wrap("settle", store, "settleAll");
  }
  wrap("commit", OwnerConnection, "transaction");
  wrap("run", EmbeddedAgents, "run");
  wrap("event", EmbeddedSessions, "enqueueSystemEvent");
  wrap("deliver", EmbeddedChannels, "send");
  wrap("heartbeat", EmbeddedHeartbeat, "request");
  wrap("turn", EmbeddedAgents, "converse");
  wrap("turn-stored", EmbeddedSessions, "appendTurn");
  wrapAnswers();
  preloadInThreads();
} else if (fatalStep === "commit") {
  const { GroupCommit } = await import("../../src/storage/sqlite/engine/group-commit.ts");
  wrap("commit", GroupCommit, "commit");
}

/** Puts a fault point around a method of every object of a class. */
function wrap(name: string, owner: { readonly prototype: object }, method: string): void {
  const real: unknown = Reflect.get(owner.prototype, method);
  if (typeof real !== "function") throw new Error(`The fault point ${name} has lost its method ${method}.`);
  Reflect.set(owner.prototype, method, faulty(name, real as Step));
}

/** Answers to calls of hooks only: the harness itself asks the API. */
function wrapAnswers(): void {
  const real = Reflect.get(ServerResponse.prototype, "end") as Step;
  const mortal = faulty("answer", real);
  Reflect.set(ServerResponse.prototype, "end", function (this: ServerResponse, ...args: unknown[]): unknown {
    const ofHook = this.req.url?.startsWith("/hooks") ?? false;
    return Reflect.apply(ofHook ? mortal : real, this, args);
  });
}

/** A stage is a function of a module: another module takes its place, with a fault point around the stage. */
function replaceStages(): void {
  const stage = STAGES.find((name) => name === fatalStep);
  if (stage === undefined) return;
  const { href } = new URL(`../../src/ingress/stages/${stage}.ts`, import.meta.url);
  const real = JSON.stringify(`${href}?real`);
  const source = [
    `import { faulty } from ${JSON.stringify(new URL("faulty.ts", import.meta.url).href)};`,
    `import { ${stage} as real } from ${real};`,
    `export * from ${real};`,
    `export const ${stage} = faulty("${stage}", real);`,
  ].join("\n");
  registerHooks({
    load: (url, context, nextLoad) =>
      url === href ? { format: "module", source, shortCircuit: true } : nextLoad(url, context),
  });
}

/** The product's threads take no arguments of the process. */
function preloadInThreads(): void {
  const execArgv = ["--import", import.meta.url];
  workerThreads.Worker = class extends Worker {
    constructor(file: string | URL, options?: WorkerOptions) {
      super(file, { ...options, execArgv });
    }
  };
  syncBuiltinESMExports();
}
