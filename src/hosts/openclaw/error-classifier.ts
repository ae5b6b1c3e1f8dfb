/**
 * The meaning of the host's failures: by its codes where a failure has one, else by its words. The end of a run has
 * words only. A failure that neither names counts as permanent.
 */
import { reasonOf } from "../../core/reason-of.ts";
import { HostError } from "../../core/host.ts";

/** A model that is overloaded, out of reach or over its rate, a host that stops: the same call may succeed later. */
const TRANSIENT =
  /draining|overloaded|rate.?limit|too many requests|temporarily|try again|timed? ?out|unavailable|connection|network|econn|\b(?:408|429|50[0-4]|529)\b/i;

/**
 * A host that reloads this plugin and refuses what its instance of before asks, or a turn that needs it: it stops that
 * instance, or takes its calls again.
 */
const RELOADING =
  /\bplugin\b.*(?:retir(?:ed|ing)\b|replacement|reloaded or disabled|no longer active|consumer is closed)|retired plugin/i;

/** A host that stops or has not begun to serve its plugins. */
const NOT_READY =
  /drain|restart|shut|clos(?:ed|ing)|not (?:yet )?(?:available|ready|started)|unavailable|only available|changed before admission|live gateway|timed? ?out|busy|overloaded|queue/i;

/** A host that says so has not looked at what was asked; a call that timed out may have been heard. */
const REFUSED_UP_FRONT =
  /draining|not accepted|unavailable during gateway|before admission|not authorized|only available|plugin.*runtime is no longer active|not (?:yet )?(?:available|ready|started)/i;

/** A host that restarts refuses every call until it has stopped this plugin, and one that is suspended until it resumes. */
const DRAINING = /\bdraining\b|unavailable during gateway restart/i;

/** Messages of the host's lanes while it stops. */
const NOT_ACCEPTED = /new tasks are not accepted/i;

/** A recipient or an account that is wrong: the same message will not pass later either. */
const REFUSED_MESSAGE =
  /\b(?:400|401|403|404)\b|bad request|unauthorized|forbidden|not found|blocked|kicked|deactivated|not configured|invalid|unknown/i;

/** The gateway's codes for a call, and that of its plugin runtime for a call outside of its scope. */
const CODES: Readonly<Record<string, "later" | "never">> = {
  UNAVAILABLE: "later",
  AGENT_TIMEOUT: "later",
  OPENCLAW_SUBAGENT_RUNTIME_REQUEST_SCOPE: "later",
  INVALID_REQUEST: "never",
  FORBIDDEN: "never",
};

/** True when the same call may succeed later; `undefined` when the failure has no code that says so. */
function mayPassLater(error: unknown): boolean | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const { gatewayCode, code, retryable } = error as Readonly<Record<string, unknown>>;
  if (retryable === true) return true;
  const known = [gatewayCode, code].find((written) => typeof written === "string" && Object.hasOwn(CODES, written));
  return known === undefined ? undefined : CODES[known as string] === "later";
}

/** The HTTP status that the service of a channel answered; `undefined` when the failure has none. */
function httpStatus(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const { error_code: errorCode, statusCode, status } = error as Readonly<Record<string, unknown>>;
  return [errorCode, statusCode, status].find((code): code is number => typeof code === "number" && code >= 400);
}

/** True when a failed run may succeed later, as far as its error shows. */
export function isTransient(error: string): boolean {
  return TRANSIENT.test(error) || RELOADING.test(error);
}

/** True when the host refuses a call because it reloads this plugin, or takes in no work at present. */
export function isRefusedForNow(error: unknown): boolean {
  const words = redactedReason(error);
  return RELOADING.test(words) || DRAINING.test(words);
}

/** True when the host's lanes refused a turn. */
export function wasNotAccepted(error: string): boolean {
  return NOT_ACCEPTED.test(error);
}

/** True when the error says by itself that nothing was begun. */
export function isRefusedUpFront(error: unknown): boolean {
  return mayPassLater(error) === false || REFUSED_UP_FRONT.test(redactedReason(error));
}

/** For a run that the host may or may not have begun, and that it could not be asked to end. */
export function mayHaveBegun(error: unknown): HostError {
  const words = `OpenClaw may have begun the run, and did not end it: ${redactedReason(error)}`;
  return new HostError(words, { retryable: false, cause: error });
}

/** For a run that the host did not begin. */
export function neverBegan(error: unknown): HostError {
  const words = redactedReason(error);
  const retryable = mayPassLater(error) ?? (NOT_READY.test(words) || RELOADING.test(words));
  return new HostError(`OpenClaw did not begin the run: ${words}`, { retryable, cause: error });
}

/** For a message that the channel did not take; what is not known to be wrong is tried again. */
export function notSent(channel: string, error: unknown): HostError {
  const words = redactedReason(error);
  const status = httpStatus(error);
  const retryable = status === undefined ? !REFUSED_MESSAGE.test(words) : isTransientStatus(status);
  return new HostError(`The channel ${channel} did not take the message: ${words}`, { retryable, cause: error });
}

function isTransientStatus(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

/** The first line, bounded. Telegram's token is part of its addresses, and those are part of some errors. */
function redactedReason(error: unknown): string {
  const [line = ""] = reasonOf(error).split("\n");
  return line.replaceAll(/\/bot[^/\s]+\//g, "/bot<token>/").slice(0, 500);
}
