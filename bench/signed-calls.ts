/**
 * What a sender's signature adds to a call: the same mapped call of 1 KiB, every one with a body of
 * its own, by hook token and signed, on one gateway in turns; and verification alone.
 */
import { median } from "./median.ts";
import { refuseFailures, runLoad, runScript } from "./run-load.ts";
import { senderNames, senders } from "./senders.ts";
import type { SenderName } from "./senders.ts";
import { HOOK_TOKEN, lastMappingPath, senderPath, startGateway } from "./servers.ts";
import type { RunningServer, StateFolders } from "./servers.ts";
import { sumOf } from "./thread-cpu.ts";

interface Timing {
  readonly rounds: number;
  readonly warmupMs: number;
  readonly durationMs: number;
  readonly connections: number;
}

interface Cost {
  readonly requestsPerSecond: number;
  /** Of the server, in microseconds. */
  readonly cpu: number;
}

interface SignedRound extends Cost {
  /** The calls by hook token right before and after. */
  readonly token: Cost;
}

/** More than a gateway answers; when they run out the load ends earlier, and its figures still hold. */
const PREPARED_PER_SECOND = 20_000;
/** Calls verified in a pass, for each second that a load is measured. */
const ALONE_PER_SECOND = 2_000;

/** Measures every sender and writes the section of the report. */
export async function reportSignedCalls(timing: Timing, state: StateFolders): Promise<string> {
  const tokens: Cost[] = [];
  const rows: string[] = [];
  for (const sender of senderNames) {
    const rounds = await measureSender(sender, timing, state);
    const calls = Math.round((ALONE_PER_SECOND * timing.durationMs) / 1_000);
    const alone = Number(await runScript(0, "verify-alone.ts", [sender, String(calls)]));
    tokens.push(...rounds.map(({ token }) => token));
    rows.push(signedRow(senders[sender].title, rounds, alone));
    console.log(rows.at(-1));
  }
  return `## What a signature adds to a call

The same mapped agent call (1 mapping, 0 stored at the start), once by hook token and once signed by its sender, each with a body of its own, signed before the clock starts; no call is a copy of another. A signed call is remembered durably, so that a copy of it would run nothing; one row leaves that out, and so tells verifying from remembering.

- **of the token's req/s**: the rate of the signed call beside that of the same call by hook token on the same gateway, right before and after.
- **all that is added**: what the signed call costs the gateway's process (all threads) more than those calls by token: signature, replay mark with its row, longer headers, less the token's own check.
- **verification alone**: processor time of \`compileScheme(...).verify\` for such a call, making the mark included and storing it not, in a process that does nothing else.
- **verification adds**: that time as a part of the CPU of the same call by token, in the same rounds.

| mapped agent call, 1 KiB | req/s | of the token's req/s | CPU µs a call | all that is added | verification alone µs | verification adds |
|---|---|---|---|---|---|---|
| ${["by hook token", rate(tokens), "1.00", micros(tokens), "", "", ""].join(" | ")} |
${rows.join("\n")}
`;
}

/** Token, signed, token, signed, token ...: each signed one is compared with the mean of the two around it. */
async function measureSender(sender: SenderName, timing: Timing, state: StateFolders): Promise<SignedRound[]> {
  const server = await startGateway({ mappings: 1, sender, stateDir: await state.with(0) });
  try {
    // Thrown away: a process that is new would make whatever is measured first look dear.
    await measure(server, sender, timing);
    const rounds: SignedRound[] = [];
    let before = await measure(server, undefined, timing);
    for (let round = 0; round < timing.rounds; round++) {
      const signed = await measure(server, sender, timing);
      const after = await measure(server, undefined, timing);
      rounds.push({ ...signed, token: meanOf(before, after) });
      before = after;
    }
    return rounds;
  } finally {
    await server.stop();
  }
}

async function measure({ port, pid }: RunningServer, sender: SenderName | undefined, timing: Timing): Promise<Cost> {
  const { warmupMs, durationMs, connections } = timing;
  const distinct = Math.ceil((PREPARED_PER_SECOND * (warmupMs + durationMs)) / 1_000);
  const result = await runLoad({
    port,
    pid,
    path: sender ? senderPath(sender) : lastMappingPath(1),
    headers: sender ? {} : { authorization: `Bearer ${HOOK_TOKEN}` },
    body: { distinct, sender },
    connections,
    warmupMs,
    durationMs,
  });
  refuseFailures(sender ?? "by hook token", result);
  return { requestsPerSecond: result.requestsPerSecond, cpu: result.cpu ? sumOf(result.cpu) : Number.NaN };
}

function meanOf(left: Cost, right: Cost): Cost {
  return {
    requestsPerSecond: (left.requestsPerSecond + right.requestsPerSecond) / 2,
    cpu: (left.cpu + right.cpu) / 2,
  };
}

function signedRow(title: string, rounds: readonly SignedRound[], alone: number): string {
  const ratio = median(rounds.map(({ requestsPerSecond, token }) => requestsPerSecond / token.requestsPerSecond));
  const added = median(rounds.map(({ cpu, token }) => cpu / token.cpu - 1));
  const verifying = alone / median(rounds.map(({ token }) => token.cpu));
  return `| ${[title, rate(rounds), ratio.toFixed(2), micros(rounds), percent(added), alone.toFixed(1), percent(verifying)].join(" | ")} |`;
}

function rate(costs: readonly Cost[]): string {
  return Math.round(median(costs.map(({ requestsPerSecond }) => requestsPerSecond))).toLocaleString("en");
}

function micros(costs: readonly Cost[]): string {
  return median(costs.map(({ cpu }) => cpu)).toFixed(0);
}

function percent(part: number): string {
  return `${(part * 100).toFixed(1)} %`;
}
