/**
 * The latency of calls with the hook token while strangers hold 5,000 slow sockets on the path of a sender that
 * signs: `npm run bench -- strangers`.
 *
 * Each socket sends a head with a wrong signature and one byte of the body. One that the gateway closes is opened
 * again, 500 of them a second. The gateway has one core; the strangers and the caller share the other, each in a
 * process of its own.
 */
import { fork } from "node:child_process";
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { fileURLToPath } from "node:url";
import { median } from "./median.ts";
import { HOOK_TOKEN, senderPath, startGateway, StateFolders } from "./servers.ts";

const SOCKETS = 5_000;
const REOPENED_A_SECOND = 500;
const CALLS_A_SECOND = 100;
const AIM_MS = 250;
/** Calls are made for so long from the moment at which the sockets begin to open. */
const OPENING_MS = 3_000;
const THIS_FILE = fileURLToPath(import.meta.url);

interface StrangersTiming {
  readonly rounds: number;
  readonly durationMs: number;
}

interface Latency {
  readonly calls: number;
  readonly failed: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** Measures without strangers, with all of them at one address, and with 200 addresses; gives the section. */
export async function reportSlowStrangers({ rounds, durationMs }: StrangersTiming): Promise<string> {
  const state = new StateFolders();
  const rows = [
    "| slow sockets | longest ms while they open | calls while they are held | not 200 | p50 ms | p99 ms | max ms |",
    "|---|---|---|---|---|---|---|",
  ];
  for (const [name, addresses] of [
    ["none", 0],
    ["5,000 from 1 address", 1],
    ["5,000 from 200 addresses", 200],
  ] as const) {
    const openings: Latency[] = [];
    const held: Latency[] = [];
    for (let round = 0; round < rounds; round++) {
      const gateway = await startGateway({ mappings: 1, stateDir: await state.with(0), sender: "github" });
      const [strangers, opening] = await Promise.all([
        addresses === 0 ? undefined : startStrangers(gateway.port, addresses),
        callOften(gateway.port, OPENING_MS),
      ]);
      openings.push(opening);
      held.push(await callOften(gateway.port, durationMs));
      strangers?.kill();
      await gateway.stop();
    }
    const failed = [...openings, ...held].reduce((sum, round) => sum + round.failed, 0);
    const calls = held.reduce((sum, round) => sum + round.calls, 0);
    const ms = (each: readonly Latency[], figure: "p50Ms" | "p99Ms" | "maxMs"): string =>
      median(each.map((round) => round[figure])).toFixed(1);
    const figures = [ms(openings, "maxMs"), calls, failed, ms(held, "p50Ms"), ms(held, "p99Ms"), ms(held, "maxMs")];
    rows.push(`| ${[name, ...figures].join(" | ")} |`);
    console.log(rows.at(-1));
  }
  await state.remove();
  return `## Strangers who hold slow sockets

Calls of \`POST /hooks/wake\` with the hook token, ${CALLS_A_SECOND} a second, each measured from the time it is due, while strangers hold ${SOCKETS.toLocaleString("en")} sockets on the path of a sender that signs. Each sends a head and one byte of a body, and is opened again when the gateway closes it, ${REOPENED_A_SECOND} a second. All of them open at once, which takes the gateway half a second of its core; then they are held. The aim is a p99 below ${AIM_MS} ms while they are held. Each figure is the median of ${rounds} rounds.

${rows.join("\n")}
`;
}

/** Resolves when all sockets have been opened once. */
function startStrangers(port: number, addresses: number): Promise<ReturnType<typeof fork>> {
  const child = fork(THIS_FILE, [String(port), String(addresses)]);
  return new Promise((resolve, reject) => {
    child.once("message", () => resolve(child));
    child.once("exit", (code) => reject(new Error(`The strangers ended with ${code}.`)));
  });
}

async function callOften(port: number, durationMs: number): Promise<Latency> {
  const agent = new Agent({ keepAlive: true });
  const took: number[] = [];
  let failed = 0;
  const begun = performance.now();
  const calls: Promise<void>[] = [];
  for (let due = 0; due < durationMs; due += 1_000 / CALLS_A_SECOND) {
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, begun + due - performance.now())));
    calls.push(
      wake(port, agent).then((status) => {
        took.push(performance.now() - begun - due);
        if (status !== 200) failed++;
      }),
    );
  }
  await Promise.all(calls);
  agent.destroy();
  const sorted = took.toSorted((one, other) => one - other);
  const at = (part: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
  return { calls: sorted.length, failed, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
}

/** The status, or 0 when the connection broke. */
function wake(port: number, agent: Agent): Promise<number> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": "application/json" };
    const call = request({ port, host: "127.0.0.1", path: "/hooks/wake", method: "POST", headers, agent }, (answer) => {
      answer.resume();
      answer.once("end", () => resolve(answer.statusCode ?? 0));
    });
    call.once("error", () => resolve(0));
    call.end('{"text":"call","mode":"next-heartbeat"}');
  });
}

/** Holds the sockets until the process is ended. */
function holdSockets(port: number, addresses: number): void {
  const head = [
    `POST ${senderPath("github")} HTTP/1.1`,
    "host: gateway",
    "content-type: application/json",
    "x-github-event: push",
    "x-github-delivery: 1",
    `x-hub-signature-256: sha256=${"0".repeat(64)}`,
    "content-length: 1000",
    "",
    "{",
  ].join("\r\n");
  let opened = 0;
  let closed = 0;
  const open = (): void => {
    const localAddress = `127.0.${addresses === 1 ? 0 : 1}.${(opened++ % addresses) + 1}`;
    const socket = connect({ host: "127.0.0.1", port, localAddress });
    socket.on("error", () => {});
    socket.resume();
    socket.once("connect", () => {
      socket.write(head);
      if (opened === SOCKETS) process.send?.("open");
    });
    socket.once("close", () => closed++);
  };
  for (let count = 0; count < SOCKETS; count++) open();
  setInterval(() => {
    const again = Math.min(closed, REOPENED_A_SECOND / 10);
    closed -= again;
    for (let count = 0; count < again; count++) open();
  }, 100);
}

if (process.argv[1] === THIS_FILE && process.send !== undefined) {
  holdSockets(Number(process.argv[2]), Number(process.argv[3]));
}
