/** `hooks.replies`: what the replies of agents may lead to. */
import Type, { type Static } from "typebox";
import { text } from "./schema-parts.ts";

/** A host name, `*.` and what its names end with, or `*`. */
const HOST = "^(?:\\*|(?:\\*\\.)?[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)$";

/** A list of hosts that links may lead to. */
export const linkHosts = (description: string) =>
  Type.Array(
    text({
      description: "",
      title: 'a host name such as "ci.example.com", "*.example.com" or "*"',
      maxLength: 253,
      pattern: HOST,
    }),
    { maxItems: 1_000, description },
  );

export const RepliesSchema = Type.Object(
  {
    links: Type.Optional(
      linkHosts(
        "Hosts that links and images in what an agent lets out may lead to, besides those of the mapping's `links`; `*.example.com` has every name below it, `*` is any host. Others are allowed only where the event itself has exactly that address.",
      ),
    ),
  },
  {
    additionalProperties: false,
    description:
      "What may leave: a reply, a callback or a call of a tool with a secret of the gateway, with hidden text or with a link to elsewhere is held or denied.",
  },
);

export interface RepliesConfig {
  /** Lower case; `*.example.com` has every name below it, `*` is any host. */
  readonly links: readonly string[];
}

export function readReplies(written: Static<typeof RepliesSchema> | undefined): RepliesConfig {
  return { links: readLinkHosts(written?.links ?? []) };
}

export function readLinkHosts(written: readonly string[]): readonly string[] {
  return [...new Set(written.map((host) => host.toLowerCase()))];
}
