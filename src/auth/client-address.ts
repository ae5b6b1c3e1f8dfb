import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import proxyAddr from "proxy-addr";

/**
 * The client's address from the socket's peer and the X-Forwarded-For header (several joined by
 * commas, as Node does): canonical, IPv4-mapped IPv6 folded to IPv4, no zone; or `unknown`.
 */
export type ClientAddressResolver = (socketAddress: string | undefined, xForwardedFor: string | undefined) => string;

/** The name of a client that has no address, such as the peer of a Unix socket. */
export const UNKNOWN_ADDRESS = "unknown";

/** Over twenty proxies in a row fit; a longer header is hostile or broken. */
const MAX_FORWARDED_LENGTH = 1024;
const MAX_REMEMBERED_HOPS = 1024;

/**
 * Prepares the resolution of client addresses behind the proxies of `gateway.trustedProxies`
 * (addresses and CIDR blocks; throws a TypeError for anything else).
 *
 * The header of a peer that is not trusted is ignored. Behind a trusted one it is read from the
 * right: hops that are trusted are skipped, the first that is not is the client. When all are
 * trusted, the farthest is. A hop that is no address, or a header longer than 1,024 characters,
 * makes the answer the peer itself: what cannot be attributed counts against the proxy. A port
 * behind a hop, which some proxies write, is left out.
 */
export function compileClientAddress(trustedProxies: readonly string[]): ClientAddressResolver {
  if (trustedProxies.length === 0) return (socketAddress) => peerAddress(socketAddress);
  const judge = compileHopReader(trustedProxies);

  return (socketAddress, xForwardedFor) => {
    const peer = peerAddress(socketAddress);
    if (xForwardedFor === undefined || !judge(peer).isTrusted) return peer;
    if (xForwardedFor.length > MAX_FORWARDED_LENGTH) return peer;
    let farthest = peer;
    let end = xForwardedFor.length;
    while (end >= 0) {
      const comma = end === 0 ? -1 : xForwardedFor.lastIndexOf(",", end - 1);
      const text = xForwardedFor.slice(comma + 1, end).trim();
      end = comma;
      // An empty element of a list is skipped (RFC 9110, 5.6.1).
      if (text === "") continue;
      const hop = judge(text);
      if (hop.address === undefined) return peer;
      if (!hop.isTrusted) return hop.address;
      farthest = hop.address;
    }
    return farthest;
  };
}

interface Hop {
  /** Canonical; `undefined` when the text is no address. */
  readonly address: string | undefined;
  readonly isTrusted: boolean;
}

/** Judges hops. The same few ask all the time and parsing takes microseconds, so the last ones are kept. */
function compileHopReader(trustedProxies: readonly string[]): (text: string) => Hop {
  const isTrusted = proxyAddr.compile([...trustedProxies]);
  const remembered = new Map<string, Hop>();
  return (text) => {
    const known = remembered.get(text);
    if (known !== undefined) return known;
    const address = canonicalAddress(withoutPort(text));
    const hop = { address, isTrusted: address !== undefined && isTrusted(address, 0) };
    if (remembered.size >= MAX_REMEMBERED_HOPS) remembered.clear();
    remembered.set(text, hop);
    return hop;
  };
}

/**
 * The key under which failures of an address are counted: an IPv4 address itself, the /64 block of
 * an IPv6 address, since one subscriber has a whole block; `unknown` for anything else.
 */
export function lockoutKey(address: string): string {
  const family = isIP(address);
  if (family === 4) return address;
  if (family === 0) return UNKNOWN_ADDRESS;
  const parsed = parseIpv6(address);
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address().toString();
  const block = parsed.parts.slice(0, 4);
  return `${block.map((part) => part.toString(16)).join(":")}::/64`;
}

/** A socket's own address is well-formed and canonical, except for mapping and zone. */
function peerAddress(socketAddress: string | undefined): string {
  if (socketAddress === undefined || socketAddress === "") return UNKNOWN_ADDRESS;
  if (!socketAddress.includes(":")) return socketAddress;
  if (socketAddress.startsWith("::ffff:") && socketAddress.includes(".")) return socketAddress.slice(7);
  const zone = socketAddress.indexOf("%");
  return zone === -1 ? socketAddress : socketAddress.slice(0, zone);
}

/** Only what Node itself takes for an address; the parser of ipaddr.js also reads `0x7f.1`. */
function canonicalAddress(text: string): string | undefined {
  const family = isIP(text);
  if (family === 0) return undefined;
  if (family === 4) return text;
  const address = parseIpv6(text);
  return address.isIPv4MappedAddress() ? address.toIPv4Address().toString() : address.toString();
}

function parseIpv6(text: string): ipaddr.IPv6 {
  const zone = text.indexOf("%");
  const address = zone === -1 ? text : text.slice(0, zone);
  return ipaddr.IPv6.parse(address.includes(".") ? address.replace(DOTTED_TAIL, hexTail) : address);
}

const DOTTED_TAIL = /([0-9]+)\.([0-9]+)\.([0-9]+)\.([0-9]+)$/;

/** In hex, since ipaddr.js takes the dotted `::192.0.2.1`, an IPv6 address, for the mapped IPv4 one. */
function hexTail(_tail: string, ...bytes: string[]): string {
  const [a, b, c, d] = bytes.slice(0, 4).map(Number) as [number, number, number, number];
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}

/** `192.0.2.1:4711` and `[2001:db8::1]:4711` without their ports; anything else as it is. */
function withoutPort(hop: string): string {
  return (
    HOP_WITH_PORT.exec(hop)
      ?.slice(1)
      .find((part) => part !== undefined) ?? hop
  );
}

const HOP_WITH_PORT = /^(?:([0-9.]+):[0-9]{1,5}|\[([0-9a-f:.]+)\](?::[0-9]{1,5})?)$/i;
