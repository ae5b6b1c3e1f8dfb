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

/** The isolation of a sandbox process on this machine, besides Node's permission model, which is always on. */
export interface SandboxIsolation {
  /** The beginning of its command line, in absolute paths: `unshare`, `setpriv`. Empty: there is none. */
  readonly command: readonly string[];
  /** Absolute path of `prlimit`, which forbids core dumps and files of any length; `undefined`: there is none. */
  readonly prlimit: string | undefined;
  /** Absolute path of `nice`, which lets the gateway go first; `undefined`: there is none. */
  readonly nice?: string | undefined;
  /** `by-name`: only the modules of Node that open connections are refused inside of the process. */
  readonly network: "namespace" | "permission" | "by-name";
  /** True when it sees other processes; `by-name`: only the functions that signal them are refused. */
  readonly processes: "namespace" | "by-name";
  /** True when the kernel ends it with the gateway, whatever it is doing. */
  readonly endsWithGateway: boolean;
  /** True when the gateway can see how much memory it has. */
  readonly memoryWatch: boolean;
}

/** One thing that a sandbox process must not do, and what came of trying it. */
export interface IsolationReport {
  /** Continues "It cannot ...": `read files outside of its folder`. */
  readonly action: string;
  readonly holds: boolean;
  /** `Node's permission model`, `network namespace`, `by name only`. */
  readonly by: string;
  readonly detail?: string;
  /** True where a machine without it is no less safe to run modules on, but may be left with work to clean up. */
  readonly isOptional?: boolean;
}
