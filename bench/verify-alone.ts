/**
 * Verification without a gateway around it: `node bench/verify-alone.ts <sender> <calls>` verifies so
 * many different calls of 1 KiB several times over and prints the median processor time of one, in
 * microseconds, replay mark included. Each sender has a process of its own, as a warm route has.
 */
import { randomUUID } from "node:crypto";
import { NO_KEYS } from "../src/auth/keys/remote-keys.ts";
import { compileScheme } from "../src/auth/signatures/compile-scheme.ts";
import type { IncomingRequest, SchemeVerifier, Verification } from "../src/auth/verifier.ts";
import { normalizeAuth } from "../src/config/auth/read.ts";
import { callBody } from "./call-body.ts";
import { median } from "./median.ts";
import { senders } from "./senders.ts";
import type { BenchSender, SenderName } from "./senders.ts";

const PASSES = 7;

function callOf(sender: BenchSender): IncomingRequest {
  const id = randomUUID();
  const body = callBody(id);
  const headers = {
    host: "127.0.0.1:18789",
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
    ...sender.sign(body, id),
  };
  const target = "/hooks/bench";
  return { method: "POST", target, headers, body: Buffer.from(body), receivedAt: Date.now(), pathSecret: undefined };
}

/** A figure of refusals, or of calls that would count as copies, would be none; this warms up too. */
async function refuseFailures(
  verifier: SchemeVerifier,
  calls: readonly IncomingRequest[],
  isMarked: boolean,
): Promise<void> {
  const marks = new Set<string>();
  for (const call of calls) {
    const verification = await verifier.verify(call);
    if (!verification.ok) throw new Error(`A call was refused: ${verification.reason}.`);
    if (verification.replay) marks.add(Buffer.from(verification.replay.digest).toString("hex"));
  }
  if (marks.size !== (isMarked ? calls.length : 0)) throw new Error(`${calls.length} calls have ${marks.size} marks.`);
}

async function microsPerCall(verifier: SchemeVerifier, calls: readonly IncomingRequest[]): Promise<number> {
  // Kept, so that nothing is thrown away unmade.
  const kept: (Verification | Promise<Verification>)[] = [];
  const before = process.cpuUsage();
  for (const call of calls) {
    const verification = verifier.verify(call);
    kept.push(verification instanceof Promise ? await verification : verification);
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / kept.length;
}

async function run(sender: BenchSender, count: number): Promise<number> {
  const { secret, ...input } = sender.auth;
  const auth = normalizeAuth(input, [secret]);
  if (auth === undefined) throw new Error("The hook token is no scheme.");
  const verifier = compileScheme(auth, { route: "bench", publicUrl: undefined, ...NO_KEYS });
  const calls = Array.from({ length: count }, () => callOf(sender));
  await refuseFailures(verifier, calls, input.replaySeconds !== 0);
  const passes: number[] = [];
  for (let pass = 0; pass < PASSES; pass++) passes.push(await microsPerCall(verifier, calls));
  return median(passes);
}

console.log(await run(senders[process.argv[2] as SenderName], Number(process.argv[3])));
