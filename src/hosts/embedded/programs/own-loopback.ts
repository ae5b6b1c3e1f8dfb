/**
 * The loopback of a confined program. On Linux it is the program's own: many agents talk to a server that they start
 * there. A port of the machine's loopback that `egress` names is relayed into it, by way of the proxy.
 */

/** What a program is to know of its loopback, and what starts before it. */
export interface OwnLoopback {
  /** For `NO_PROXY`: hosts that are asked directly. */
  readonly direct: string;
  /** Words before the command. */
  readonly before: readonly string[];
}

const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])(?::(\d{1,5}))?$/u;
/** Of the proxy, as the library starts it inside. */
const PROXY_PORT = 3128;

/** Where the loopback is not the program's own, or all of its ports are to be reached, it is asked by way of the proxy. */
export function ownLoopback(egress: readonly string[], platform: NodeJS.Platform): OwnLoopback {
  const named = egress.flatMap((entry) => {
    const [found, host = "", port] = LOOPBACK.exec(entry) ?? [];
    return found === undefined ? [] : [{ host, port }];
  });
  if (platform !== "linux" || named.some(({ port }) => port === undefined)) return { direct: "", before: [] };
  const relays = named.map(({ host, port }) => relay(host, Number(port)));
  const before = relays.length === 0 ? [] : ["sh", "-c", [AUTHORIZATION, ...relays, 'exec "$@"'].join("\n"), "sh"];
  return { direct: "localhost,127.0.0.1,::1", before };
}

/** The proxy's own password, from the URL that the library sets. */
const AUTHORIZATION = `a=\${HTTP_PROXY#http://}; case $a in *@*) a=,proxyauth=\${a%@*};; *) a=;; esac`;

/** Resolves once it listens; it ends with all that runs in there. */
function relay(host: string, port: number): string {
  const listening = `:${port.toString(16).toUpperCase().padStart(4, "0")} 00000000:0000 0A`;
  return [
    `(socat TCP4-LISTEN:${port},bind=127.0.0.1,fork,reuseaddr,backlog=512 "PROXY:127.0.0.1:${host}:${port},proxyport=${PROXY_PORT}$a" </dev/null >/dev/null 2>&1 &)`,
    `i=0; until grep -q '${listening}' /proc/net/tcp || [ $i = 100 ]; do i=$((i+1)); sleep 0.05; done`,
  ].join("\n");
}
