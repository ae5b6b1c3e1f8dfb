import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/**
 * True when an address (IPv4 or IPv6, without brackets or zone) belongs to the public internet. Private,
 * loopback, link-local (with it the metadata services of clouds), shared (RFC 6598), multicast, documentation
 * and tunneled addresses are not public, nor is anything that is no address. A translated one (RFC 6052), which networks
 * without IPv4 have for every host without IPv6, is public when that which it stands for is.
 */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return address !== AZURE_HOST_AGENT && ipaddr.IPv4.parse(address).range() === "unicast";
  if (family !== 6 || address.includes("%")) return false;
  const parsed = ipaddr.IPv6.parse(address);
  if (parsed.match(TRANSLATED)) return isPublicAddress(parsed.toByteArray().slice(-4).join("."));
  return parsed.range() === "unicast" && parsed.match(GLOBAL_UNICAST);
}

/** Each machine in Azure reaches the agent of its host here, which hands out credentials. */
const AZURE_HOST_AGENT = "168.63.129.16";

/** All that is assigned to the internet (RFC 4291, 2.4); `::127.0.0.1`, for one, lies outside. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR("2000::/3");

const TRANSLATED = ipaddr.IPv6.parseCIDR("64:ff9b::/96");
