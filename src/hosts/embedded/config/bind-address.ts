/** Which address the server listens on. */
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

export interface BindAddress {
  readonly host: string;
  /** True when the address can be reached from this machine alone. */
  readonly loopbackOnly: boolean;
}

const names: ReadonlyMap<string, BindAddress> = new Map([
  ["loopback", { host: "127.0.0.1", loopbackOnly: true }],
  ["localhost", { host: "127.0.0.1", loopbackOnly: true }],
  ["lan", { host: "0.0.0.0", loopbackOnly: false }],
]);

/** Reads `loopback`, `lan` or an IP address; `undefined` for anything else. */
export function readBindAddress(bind: string): BindAddress | undefined {
  const named = names.get(bind);
  if (named !== undefined) return named;
  if (isIP(bind) === 0) return undefined;
  // `process` folds an IPv4-mapped address, which is as local as what it maps.
  return { host: bind, loopbackOnly: ipaddr.process(bind).range() === "loopback" };
}
