/** Which replies of the heartbeat say something to the owner. */

const ACKNOWLEDGMENT = "HEARTBEAT_OK";
const SILENCE = "NO_REPLY";
/** What may stand beside an acknowledgment without making it news, in characters. */
const MAX_REMAINDER_CHARS = 300;
/** Light markup that models put around a single word. */
const TAG = /<\/?[a-z][^<>]{0,60}>/gi;
const LEADING_MARKUP = /^[\s*_~`>#"']+/;
const TRAILING_MARKUP = /[\s*_~`"']*[.!?,;:]{0,4}[\s*_~`"']*$/;

/**
 * True for a reply that is to be sent: neither empty, nor `NO_REPLY`, nor an acknowledgment, which
 * is `HEARTBEAT_OK` at the start or the end beside at most 300 other characters.
 */
export function isWorthSending(reply: string): boolean {
  const bare = reply.replaceAll(TAG, "").replace(LEADING_MARKUP, "").replace(TRAILING_MARKUP, "");
  if (bare === "" || bare === SILENCE) {
    return false;
  }
  const acknowledges = bare.startsWith(ACKNOWLEDGMENT) || bare.endsWith(ACKNOWLEDGMENT);
  return !acknowledges || bare.length - ACKNOWLEDGMENT.length > MAX_REMAINDER_CHARS;
}
