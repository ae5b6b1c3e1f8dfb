/** What a run lets out of the gateway is checked here, without a model. */
import { quotedLabel } from "../boundary/sanitize-untrusted.ts";
import { describeHidden, removeHidden } from "../boundary/remove-hidden.ts";
import { findLinks, MAX_LINKS } from "./find-links.ts";
import type { HasSecret } from "./secret-index.ts";

/** What a text is held against. */
export interface OutgoingRules {
  /** Finds the secrets of the gateway. */
  readonly hasSecret: HasSecret;
  /** True for a host that links and images may lead to. */
  readonly isLinkHost: (host: string) => boolean;
}

/** The run that a text comes from. */
export interface OutgoingRun {
  /** Finds the canary that its prompt has. */
  readonly hasCanary: HasSecret;
  /** The texts that it was given: an address in one of them, unchanged, carries nothing out that came from elsewhere. */
  readonly given: () => string;
}

/** The reason why a text may not leave, without a part of what must not; `undefined`: it may. */
export type CheckOutgoing = (text: string) => string | undefined;

/** The check of one turn that is no run; `given` are the texts that it was given. */
export type CheckTurn = (given: () => string) => CheckOutgoing;

/** Compiles the check of what one run lets out. */
export function checkOutgoing({ hasSecret, isLinkHost }: OutgoingRules, run: OutgoingRun): CheckOutgoing {
  let given: ReadonlySet<string> | undefined;
  return (text) => {
    if (hasSecret(text)) return "it has a secret of the gateway";
    if (run.hasCanary(text)) return "it has the canary of its prompt, which is for the agent alone";
    const hidden = describeHidden({ ...removeHidden(withoutMarks(text)).counts, urls: 0 });
    if (hidden !== "") return `it has hidden text (${hidden})`;
    const links = findLinks(text);
    if (links.length >= MAX_LINKS) return `it has ${MAX_LINKS} links or more`;
    for (const { whole, host } of links) {
      if (isLinkHost(host)) continue;
      given ??= new Set(findLinks(run.given()).flatMap((link) => [link.url, link.whole]));
      if (whole === "" || !given.has(whole))
        return `it has a link to ${host === "" ? "an unclear host" : quotedLabel(host)}`;
    }
    return undefined;
  };
}

const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Nko}\p{Script=Syriac}\p{Script=Thaana}]/u;
const MARKS = /(?<!\p{Bidi_Control})[\u061C\u200E\u200F](?!\p{Bidi_Control})/gu;

/** Texts of some scripts are written with marks of direction, one at a time. */
function withoutMarks(text: string): string {
  return RIGHT_TO_LEFT.test(text) ? text.replace(MARKS, "") : text;
}

/** Compiles a list of hosts, in lower case; `*.example.com` has every name below it, and `*` is every host. */
export function compileLinkHosts(hosts: readonly string[]): OutgoingRules["isLinkHost"] {
  if (hosts.includes("*")) return () => true;
  const names = new Set(hosts.filter((host) => !host.startsWith("*.")));
  const endings = hosts.filter((host) => host.startsWith("*.")).map((host) => host.slice(1));
  return (host) => LOOPBACK.test(host) || names.has(host) || endings.some((ending) => host.endsWith(ending));
}

/** What a link there carries out reaches no one else. */
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/u;
