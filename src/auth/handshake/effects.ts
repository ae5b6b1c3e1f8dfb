import type { Handshake } from "../../config/handshake.ts";
import { refuse } from "../../core/errors.ts";
import { type Answer, answerRefusal } from "../../http/answer.ts";
import { compileSource } from "../value-source.ts";
import { isChallenge, isDeliverableKey } from "./text.ts";
import { checkSource, type HandshakeContext, type HandshakeRequest } from "./context.ts";

/** At least two labels; the last two are never a wildcard. */
const HOST_PATTERN = /^(?:(?:\*|[a-z0-9-]+)\.)*[a-z0-9-]+\.[a-z0-9-]+$/;

/**
 * Compiles the check of a URL that is fetched to confirm a subscription. It answers the URL in normal
 * form when that is https on the default port of one of the hosts (`*` is one label), without user or
 * password. Throws a TypeError for hosts that are none.
 */
function compileConfirmUrl(hosts: readonly string[]): (written: string | undefined) => string | undefined {
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

/** Seconds after which a sender whose URL could not be fetched may send its handshake again. */
const CONFIRM_AGAIN_SECONDS = 30;

/** Lets the effect take place and answers as it went; `undefined` when the request is no handshake after all. */
export type ApplyEffect = (request: HandshakeRequest, reply: Answer) => Promise<Answer | undefined> | undefined;

/** Compiles what a handshake does besides its answer; `undefined`: nothing. Throws a TypeError for what is unsafe. */
export function compileEffect({ effect, ...handshake }: Handshake, context: HandshakeContext): ApplyEffect | undefined {
  const { keyFrom, confirmUrlFrom, confirmHosts } = effect ?? {};
  if (keyFrom !== undefined && confirmUrlFrom !== undefined) throw new TypeError("it has two effects");
  if (keyFrom !== undefined) return acceptKey(keyFrom, handshake, context);
  if (confirmUrlFrom === undefined) return undefined;
  // Otherwise anyone could make the gateway fetch something.
  if (!handshake.verified) throw new TypeError("a URL is fetched only for a verified request");
  return confirmUrl(confirmUrlFrom, confirmHosts ?? [], context);
}

function acceptKey(keyFrom: string, { onlyKeys }: Omit<Handshake, "effect">, context: HandshakeContext): ApplyEffect {
  const { route, secrets, deliveredKeys } = context;
  if (checkSource(keyFrom).kind === "body" && onlyKeys === undefined) {
    throw new TypeError("a body that delivers a key needs onlyKeys");
  }
  const read = compileSource(keyFrom);
  return ({ view }, reply) => {
    const key = read(view);
    // A key from anyone who comes first must not count next to the secret that the owner set.
    if (key === undefined || !isDeliverableKey(key) || secrets.length > 0) return undefined;
    return deliveredKeys.accept(route, key).then(
      (isKept) => (isKept ? reply : undefined),
      () => answerRefusal(refuse("STORE_UNAVAILABLE")),
    );
  };
}

function confirmUrl(source: string, hosts: readonly string[], { remoteKeys }: HandshakeContext): ApplyEffect {
  checkSource(source);
  const read = compileSource(source);
  const confirmable = compileConfirmUrl(hosts);
  return ({ view }, reply) => {
    const url = confirmable(read(view));
    if (url === undefined) return undefined;
    return remoteKeys.confirm(url).then((isConfirmed) => (isConfirmed ? reply : notConfirmed()));
  };
}

/** The sender tries again, as AWS SNS does, only when the answer is no 2xx. */
function notConfirmed(): Answer {
  return answerRefusal(
    refuse("BUSY", "The URL that confirms the subscription did not answer; send this request again.", {
      retryAfterSeconds: CONFIRM_AGAIN_SECONDS,
    }),
  );
}
