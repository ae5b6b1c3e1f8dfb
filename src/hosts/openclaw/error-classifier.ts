/**
 * The meaning of the host's error messages. It gives plugins sentences and no codes, so that they are
 * recognized by their words; an unknown one is taken to be permanently.
 */
import { reasonOf } from "../../core/reason-of.ts";
import { HostError } from "../../core/host.ts";

/** A model that is overloaded, out of reach or over its rate, a host that stops: the same call may succeed later. */
const TRANSIENT =
  /draining|plugin.*retired|overloaded|rate.?limit|too many requests|temporarily|try again|timed? ?out|unavailable|connection|network|econn|\b(?:408|429|50[0-4]|529)\b/i;

/** A host that stops, reloads its plugins or has not begun to serve them. */
const NOT_READY =
  /drain|restart|shut|clos(?:ed|ing)|plugin.*retired|not (?:yet )?(?:available|ready|started)|unavailable|only available|changed before admission|live gateway|timed? ?out|busy|overloaded|queue/i;

/** A host that says so has not looked at what was asked; a call that timed out may have been heard. */
const REFUSED_UP_FRONT =
  /draining|not accepted|unavailable during gateway|before admission|not authorized|only available|not (?:yet )?(?:available|ready|started)/i;

/** Messages of the host's lanes while it stops. */
const NOT_ACCEPTED = /new tasks are not accepted/i;

/** A recipient or an account that is wrong: the same message will not pass later either. */
const REFUSED_MESSAGE =
  /\b(?:400|401|403|404)\b|bad request|unauthorized|forbidden|not found|blocked|kicked|deactivated|not configured|invalid|unknown/i;

/** True when a failed run may succeed later, as far as its error shows. */
export function isTransient(error: string): boolean {
  return TRANSIENT.test(error);
}

/** True when the host's lanes refused a turn. */
export function wasNotAccepted(error: string): boolean {
  return NOT_ACCEPTED.test(error);
}

/** True when the error says by itself that nothing was begun. */
export function isRefusedUpFront(error: unknown): boolean {
  return REFUSED_UP_FRONT.test(redactedReason(error));
}

/** For a run that the host may or may not have begun, and that it could not be asked to end. */
export function mayHaveBegun(error: unknown): HostError {
  const words = `OpenClaw may have begun the run, and did not end it: ${redactedReason(error)}`;
  return new HostError(words, { retryable: false, cause: error });
}

/** For a run that the host did not begin. */
export function neverBegan(error: unknown): HostError {
  const words = redactedReason(error);
  return new HostError(`OpenClaw did not begin the run: ${words}`, { retryable: NOT_READY.test(words), cause: error });
}

/** For a message that the channel did not take; what is not known to be wrong is tried again. */
export function notSent(channel: string, error: unknown): HostError {
  const words = redactedReason(error);
  const retryable = !REFUSED_MESSAGE.test(words);
  return new HostError(`The channel ${channel} did not take the message: ${words}`, { retryable, cause: error });
}

/** The first line, bounded. Telegram's token is part of its addresses, and those are part of some errors. */
function redactedReason(error: unknown): string {
  const [line = ""] = reasonOf(error).split("\n");
  return line.replaceAll(/\/bot[^/\s]+\//g, "/bot<token>/").slice(0, 500);
}
