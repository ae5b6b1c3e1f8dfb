import type { SandboxIsolation } from "./walls.ts";

const NETWORK = {
  namespace: "network by a namespace",
  permission: "network by Node's permission model",
  "by-name": "network by name only",
} as const;
const PROCESSES = { namespace: "processes by a namespace", "by-name": "processes by name only" } as const;

/**
 * Says in one sentence, without a full stop, what keeps transforms in besides Node's permission model:
 * `network and processes by namespaces, memory by the gateway's watch and by the kernel, ...`.
 */
export function describeIsolation({
  network,
  processes,
  memoryWatch,
  prlimit,
  endsWithGateway,
}: SandboxIsolation): string {
  const memory = [
    ...(memoryWatch ? ["by the gateway's watch"] : []),
    ...(prlimit === undefined ? [] : ["by the kernel"]),
  ];
  return [
    networkAndProcesses(network, processes),
    `memory ${memory.length === 0 ? "by Node's heap limit only" : memory.join(" and ")}`,
    endsWithGateway ? "ended with the gateway by the kernel" : "not ended with a gateway that is killed",
  ].join(", ");
}

function networkAndProcesses(network: SandboxIsolation["network"], processes: SandboxIsolation["processes"]): string {
  if (network !== processes) return `${NETWORK[network]}, ${PROCESSES[processes]}`;
  return `network and processes ${network === "namespace" ? "by namespaces" : "by name only"}`;
}
