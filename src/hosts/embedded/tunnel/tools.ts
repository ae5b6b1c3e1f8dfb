/** The tools that give a public URL: how each is started, and where in its output the URL is. */
import type { ExposeConfig, ExposeTool } from "../config/expose.ts";

/** The server on this machine that the tool passes calls to. */
export interface TunnelTarget {
  readonly port: number;
  /** `http://127.0.0.1:<port>`. */
  readonly url: string;
}

export interface ToolFacts {
  /** Without further arguments. */
  command(target: TunnelTarget): readonly string[];
  /** The URL that a line of the output gives; `undefined` for a line about something else. */
  urlIn(line: string): string | undefined;
  /** Variables that the tool reads, besides those of every program. */
  readonly env: readonly string[];
  readonly install: string;
}

const CLOUDFLARED = /^\S+ INF \|\s+(https:\/\/[a-z0-9-]+\.trycloudflare\.com)\s+\|$/u;
const TAILSCALE = /^(https:\/\/[a-z0-9-]+(?:\.[a-z0-9-]+)+\.ts\.net(?::\d{1,5})?)\/?$/u;
const ANY_HTTPS = /https:\/\/[^\s"'<>|\\^`{}[\]]+/giu;
const LOCAL_HOST = /^(?:localhost|.*\.localhost|127\..*|0\.0\.0\.0|\[.*\])$/u;
const MAX_URL_CHARS = 2_048;

/**
 * Sources: the output of `cloudflared tunnel --url`, of `tailscale funnel` and of `ngrok http --log-format json`, as
 * https://developers.cloudflare.com/cloudflare-one/networks/connectors/cloudflare-tunnel/do-more-with-tunnels/trycloudflare/,
 * https://tailscale.com/kb/1223/funnel and https://ngrok.com/docs/agent/cli/ show them.
 */
const TOOLS: Readonly<Record<Exclude<ExposeTool, "command">, ToolFacts>> = {
  cloudflared: {
    command: ({ url }) => ["cloudflared", "tunnel", "--no-autoupdate", "--url", url],
    // Messages about a failure name another host of the same domain.
    urlIn: (line) => CLOUDFLARED.exec(line)?.[1],
    env: ["TUNNEL_TOKEN"],
    install: "see https://developers.cloudflare.com/tunnel/downloads/",
  },
  tailscale: {
    command: ({ url }) => ["tailscale", "funnel", url],
    // A link for a setting of the network, which is printed as well, is of another domain.
    urlIn: (line) => TAILSCALE.exec(line)?.[1],
    env: [],
    install: "see https://tailscale.com/download",
  },
  ngrok: {
    // The inspector would keep bodies and tokens, and show them to whoever is on this machine.
    command: ({ url }) => ["ngrok", "http", url, "--inspect=false", "--log", "stdout", "--log-format", "json"],
    urlIn: urlOfNgrok,
    env: ["NGROK_AUTHTOKEN"],
    install: "see https://ngrok.com/download",
  },
};

/** What a configuration starts. */
export function toolOf({ via, words }: Pick<ExposeConfig, "via" | "words">): ToolFacts {
  if (via !== "command") {
    const tool = TOOLS[via];
    return { ...tool, command: (target) => [...tool.command(target), ...words] };
  }
  return {
    command: ({ port, url }) =>
      words.map((word) => word.replaceAll("{port}", String(port)).replaceAll("{target}", url)),
    urlIn: (line) =>
      line
        .match(ANY_HTTPS)
        ?.map(publicUrl)
        .find((url) => url !== undefined),
    env: [],
    install: "write its path, or put its folder into PATH",
  };
}

function urlOfNgrok(line: string): string | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    const { msg, url } = JSON.parse(line) as { readonly msg?: unknown; readonly url?: unknown };
    return msg === "started tunnel" && typeof url === "string" ? publicUrl(url) : undefined;
  } catch {
    return undefined;
  }
}

/** An https URL of another machine than this one, without a slash at its end. */
function publicUrl(text: string): string | undefined {
  if (text.length > MAX_URL_CHARS) return undefined;
  // A sentence may end right after it.
  const url = URL.parse(text.replace(/[.,;:!?)]+$/u, ""));
  if (url === null || url.protocol !== "https:" || url.username !== "" || url.password !== "") return undefined;
  if (LOCAL_HOST.test(url.hostname) || !url.hostname.includes(".")) return undefined;
  return `${url.origin}${url.pathname}`.replace(/\/+$/u, "");
}
