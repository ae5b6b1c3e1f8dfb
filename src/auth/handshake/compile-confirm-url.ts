import { isChallenge } from "./challenge-forms.ts";

/** At least two labels; the last two are never a wildcard. */
const HOST_PATTERN = /^(?:(?:\*|[a-z0-9-]+)\.)*[a-z0-9-]+\.[a-z0-9-]+$/;

/**
 * Compiles the check of a URL that is fetched to confirm a subscription. It answers the URL in normal
 * form when that is https on the default port of one of the hosts (`*` is one label), without user or
 * password. Throws a TypeError for hosts that are none.
 */
export function compileConfirmUrl(hosts: readonly string[]): (written: string | undefined) => string | undefined {
  if (hosts.length === 0) throw new TypeError("confirmHosts names no host");
  const patterns = hosts.map(compileHost);
  return (written) => {
    if (written === undefined || !isChallenge(written)) return undefined;
    const url = URL.parse(written);
    if (url === null || url.protocol !== "https:" || url.port !== "") return undefined;
    if (url.username !== "" || url.password !== "") return undefined;
    return patterns.some((pattern) => pattern.test(url.hostname)) ? url.href : undefined;
  };
}

function compileHost(host: string): RegExp {
  const name = host.toLowerCase();
  if (!HOST_PATTERN.test(name)) throw new TypeError(`"${host}" is no host to confirm with`);
  return new RegExp(`^${name.replaceAll(".", "\\.").replaceAll("*", "[a-z0-9-]+")}$`);
}
