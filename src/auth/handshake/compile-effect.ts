import type { Handshake } from "../../config/handshake-schema.ts";
import { refuse } from "../../core/errors.ts";
import { answerRefusal } from "../../http/answer.ts";
import type { Answer } from "../../http/answer.ts";
import { compileSource } from "../value-source.ts";
import { isDeliverableKey } from "./challenge-forms.ts";
import type { HandshakeContext } from "./handshake-context.ts";
import { compileConfirmUrl } from "./compile-confirm-url.ts";
import type { HandshakeRequest } from "./handshake-request.ts";
import { checkSource } from "./handshake-source.ts";

/** Seconds after which a sender whose URL could not be fetched may send its handshake again. */
const CONFIRM_AGAIN_SECONDS = 30;

/** Lets the effect take place and answers as it went; `undefined` when the request is no handshake after all. */
export type Settle = (request: HandshakeRequest, reply: Answer) => Promise<Answer | undefined> | undefined;

/** Compiles what a handshake does besides its answer; `undefined`: nothing. Throws a TypeError for what is unsafe. */
export function compileEffect({ effect, ...handshake }: Handshake, context: HandshakeContext): Settle | undefined {
  const { keyFrom, confirmUrlFrom, confirmHosts } = effect ?? {};
  if (keyFrom !== undefined && confirmUrlFrom !== undefined) throw new TypeError("it has two effects");
  if (keyFrom !== undefined) return takeKey(keyFrom, handshake, context);
  if (confirmUrlFrom === undefined) return undefined;
  // Otherwise anybody could make the gateway fetch something.
  if (!handshake.verified) throw new TypeError("a URL is fetched only for a verified request");
  return confirmUrl(confirmUrlFrom, confirmHosts ?? [], context);
}

function takeKey(keyFrom: string, { onlyKeys }: Omit<Handshake, "effect">, context: HandshakeContext): Settle {
  const { route, secrets, deliveredKeys } = context;
  if (checkSource(keyFrom).kind === "body" && onlyKeys === undefined) {
    throw new TypeError("a body that delivers a key needs onlyKeys");
  }
  const read = compileSource(keyFrom);
  return ({ view }, reply) => {
    const key = read(view);
    // A key from whoever comes first must not stand beside the secret that the owner set.
    if (key === undefined || !isDeliverableKey(key) || secrets.length > 0) return undefined;
    return deliveredKeys.accept(route, key).then(
      (isKept) => (isKept ? reply : undefined),
      () => answerRefusal(refuse("STORE_UNAVAILABLE")),
    );
  };
}

function confirmUrl(source: string, hosts: readonly string[], { remoteKeys }: HandshakeContext): Settle {
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
