/** Follows a delivery until it has ended. */
import { setTimeout as sleep } from "node:timers/promises";
import type { MappingConfig } from "../../config/hooks-config.ts";
import type { DeliveryDetail, DeliverySummary, State } from "../../core/delivery.ts";
import type { CliIo } from "../cli-io.ts";
import type { GatewayAccess } from "../cli-gateway.ts";
import { askGateway } from "../gateway-client.ts";
import { printable } from "../printable.ts";

export interface AcceptedCall {
  readonly access: GatewayAccess;
  /** What the hook answered. */
  readonly answer: string;
  readonly mapping: MappingConfig;
  readonly waitSeconds: number;
}

const OPEN: ReadonlySet<State> = new Set(["queued", "running"]);
const EVERY_MS = 200;

/** Tells the state of the delivery that an answer speaks of; resolves with the exit code. */
export async function waitForDelivery(watched: AcceptedCall, io: CliIo): Promise<number> {
  const id = await findDelivery(watched);
  if (id === undefined) {
    io.out("The hook answered by itself: nothing was accepted for an agent.\n");
    return 0;
  }
  const deadline = Date.now() + watched.waitSeconds * 1_000;
  let delivery = await readDelivery(watched, id);
  while (OPEN.has(delivery.state) && Date.now() < deadline) {
    await sleep(EVERY_MS);
    delivery = await readDelivery(watched, id);
  }
  io.out(`delivery ${delivery.id}: ${delivery.state}${inBrackets(delivery.reason)}\n`);
  for (const run of delivery.runs) {
    io.out(`  ${run.spec.kind} run ${run.id}: ${run.state}${inBrackets(run.reason)}\n`);
    if (run.reply !== null && run.reply !== "") io.out(`    reply: ${printable(run.reply.split("\n")[0]!)}\n`);
  }
  return delivery.state === "failed" ? 1 : 0;
}

function inBrackets(reason: string | null): string {
  return reason === null ? "" : ` (${printable(reason)})`;
}

/** The id in the answer; senders who need another answer do not get one, and then it is the route's latest. */
async function findDelivery({ answer, mapping, ...watched }: AcceptedCall): Promise<string | undefined> {
  const answered = idIn(answer);
  if (answered !== undefined) return answered;
  const query = new URLSearchParams({ route: mapping.match.path ?? "", limit: "1" });
  const page = await askGateway<{ deliveries: readonly DeliverySummary[] }>(
    watched.access,
    `/deliveries?${query.toString()}`,
  );
  return page.deliveries[0]?.id;
}

function idIn(answer: string): string | undefined {
  try {
    const { deliveryId } = JSON.parse(answer) as { deliveryId?: unknown };
    return typeof deliveryId === "string" ? deliveryId : undefined;
  } catch {
    return undefined;
  }
}

function readDelivery(watched: AcceptedCall, id: string): Promise<DeliveryDetail> {
  return askGateway<DeliveryDetail>(watched.access, `/deliveries/${encodeURIComponent(id)}`);
}
