/** What of a request may be repeated or signed. */

/** Controls of ASCII and Latin-1, and the two separators that some readers take for line ends. */
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u;
const MAX_CHALLENGE = 2_048;

/** 1 to 2,048 characters, no control characters, no half of a character. */
export function isChallenge(value: string): boolean {
  return value.length > 0 && value.length <= MAX_CHALLENGE && !CONTROL.test(value) && value.isWellFormed();
}

const VISIBLE_ASCII = /^[\u0021-\u007e]{1,2048}$/;

/** Visible ASCII without a blank, so that no header can be smuggled in. */
export function isHeaderEcho(value: string): boolean {
  return VISIBLE_ASCII.test(value);
}

const TOKEN = /^[\w.~+/-]{1,256}={0,2}$/;

/**
 * What is signed for whoever asks must not be an event.
 *
 * X and Smartcar sign the body of an event with the key that answers their challenge. Answering any
 * text would hand out signatures of events that an attacker made up; this form holds no JSON object, no
 * JSON list and no form field with a value.
 */
export function isToken(value: string): boolean {
  return TOKEN.test(value);
}

const TOKEN_END = /^[\w.~+/-]{0,256}={0,2}$/;
const MAX_TOKEN_BYTES = 258;

/** Whether a body could be the end of a text that {@link isToken} lets be signed; the empty one could. */
export function isTokenEnd(body: Uint8Array): boolean {
  return body.length <= MAX_TOKEN_BYTES && TOKEN_END.test(Buffer.from(body).toString("latin1"));
}

const KEY = /^[\u0021-\u007e]{16,512}$/;

/** A key that a sender delivers: long enough to be one. */
export function isDeliverableKey(value: string): boolean {
  return KEY.test(value);
}
