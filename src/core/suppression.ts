/** The replies of an agent that are not sent. */

const SILENT = "NO_REPLY";
/** At either end, and not part of a longer name: `HEARTBEAT_OK_COUNT` is a message. */
const ACK = /^HEARTBEAT_OK(?!_?[\p{L}\p{N}])|(?<![\p{L}\p{N}]_?)HEARTBEAT_OK$/u;
/** Characters besides an acknowledgment up to which it is no message. */
const MAX_ACK_REMAINDER = 300;
const MAX_CLOTHED_ACK = 2_000;
const EMPTY = "the reply is empty";
const CLOTHING = /^[\s*_~`>#-]+|[\s*_~`.,!?;:-]+$/g;
/** Elements only: `<https://example.org>` is a link, and may be all there is to say. */
const TAGS = /<\/?[a-z][a-z0-9]*(?:\s[^<>]{0,100})?\/?>/gi;

/**
 * The reason why a reply is not sent, or `undefined` when it is: it is empty, it says `NO_REPLY`, or it
 * only acknowledges a heartbeat (specification 2.3, `deliver`).
 */
export function suppression(reply: string): string | undefined {
  const said = reply.trim();
  if (said === "") return EMPTY;
  // Longer than any acknowledgment in any markup: the expressions below need not read it.
  if (said.length > MAX_CLOTHED_ACK) return undefined;
  const bare = said.replace(TAGS, "").replace(CLOTHING, "").trim();
  if (bare === "") return EMPTY;
  if (bare === SILENT) return `the reply is ${SILENT}`;
  if (!ACK.test(bare)) return undefined;
  const remainder = bare.replace(ACK, "").trim();
  return remainder.length <= MAX_ACK_REMAINDER ? "the reply only acknowledges a heartbeat" : undefined;
}
