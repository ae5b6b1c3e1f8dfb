import type { AgentAction, SessionMode, WakeAction } from "../core/delivery.ts";
import type { WakeMode } from "../core/run.ts";
import { refuse } from "../core/errors.ts";
import type { Refusal } from "../core/errors.ts";

const MAX_TIMEOUT_SECONDS = 86_400;
const MAX_WAIT_SECONDS = 300;

/** Reads the payload of `POST /hooks/wake` (specification 2.2), with the agent and the session that it may name. */
export function readWakePayload(payload: unknown): WakeAction | Refusal {
  return readFields(payload, (fields) => {
    const sessionKey = fields.optional("sessionKey");
    return {
      kind: "wake",
      text: fields.required("text"),
      mode: fields.wakeMode("mode"),
      agentId: fields.optional("agentId"),
      ...(sessionKey === undefined ? {} : { sessionKey, sessionKeySource: "request" }),
    };
  });
}

/**
 * Reads the payload of `POST /hooks/agent` (specification 2.3). Fields it does not name are left
 * alone; a named field of a wrong type is refused, because a misread one would send the reply to
 * the wrong place.
 */
export function readAgentPayload(payload: unknown): AgentAction | Refusal {
  return readFields(payload, (fields) => {
    const sessionKey = fields.optional("sessionKey");
    const mode = fields.deliverMode("mode");
    const deliver = fields.boolean("deliver", true);
    const sessionMode = fields.sessionMode("sessionMode");
    if (sessionMode === "persistent" && sessionKey === undefined) {
      throw new InvalidField("sessionMode persistent needs a sessionKey, which names the conversation.");
    }
    if (mode === "deliver" && !deliver) throw new InvalidField("mode deliver needs deliver to be true.");
    return {
      kind: "agent",
      message: fields.required("message"),
      name: fields.optional("name"),
      agentId: fields.optional("agentId"),
      sessionKey,
      sessionKeySource: sessionKey === undefined ? "static" : "request",
      wakeMode: fields.wakeMode("wakeMode"),
      deliver,
      channel: fields.optional("channel") ?? "last",
      to: fields.optional("to"),
      model: fields.present("model"),
      thinking: fields.optional("thinking"),
      timeoutSeconds: fields.seconds("timeoutSeconds", MAX_TIMEOUT_SECONDS),
      sessionMode,
      mode,
      callbackUrl: fields.present("callbackUrl"),
    };
  });
}

/** The longest wait of a caller of `POST /hooks/agent`. */
export interface CallerWait {
  /** `undefined`: as long as the configuration says. */
  readonly waitMs: number | undefined;
}

/** Reads `wait` (or `waitForCompletion`) and `waitSeconds` of the payload of `POST /hooks/agent`; `undefined`: the caller does not wait. */
export function readWait(payload: unknown): CallerWait | undefined | Refusal {
  return readFields(payload, (fields) => {
    const seconds = fields.seconds("waitSeconds", MAX_WAIT_SECONDS);
    // OpenClaw's name of the same wish.
    const alsoWaits = fields.boolean("waitForCompletion", false);
    if (!fields.boolean("wait", alsoWaits)) return undefined;
    return { waitMs: seconds === undefined ? undefined : Math.round(seconds * 1_000) };
  });
}

function readFields<Result>(payload: unknown, read: (fields: Fields) => Result): Result | Refusal {
  if (typeof payload !== "object" || payload === null || Array.isArray(payload)) {
    return refuse("INVALID_PAYLOAD", "The payload must be a JSON object.");
  }
  try {
    return read(new Fields(payload));
  } catch (error) {
    if (error instanceof InvalidField) return refuse("INVALID_PAYLOAD", error.message);
    throw error;
  }
}

class InvalidField extends Error {}

/** Reads own fields of a payload; each method throws an {@link InvalidField} in words for the caller. */
class Fields {
  readonly #payload: Readonly<Record<string, unknown>>;

  constructor(payload: object) {
    this.#payload = payload as Readonly<Record<string, unknown>>;
  }

  required(name: string): string {
    const value = this.#own(name);
    if (typeof value === "string" && value.trim() !== "") return value.trim();
    throw new InvalidField(`${name} required: a string that is not blank.`);
  }

  /** A trimmed string; `undefined` when it is absent, `null` or blank. */
  optional(name: string): string | undefined {
    const value = this.#own(name);
    if (value === undefined || value === null) return undefined;
    if (typeof value !== "string") throw new InvalidField(`${name} must be a string.`);
    return value.trim() || undefined;
  }

  /** Like {@link optional}, but a blank one is refused: it was meant to choose something. */
  present(name: string): string | undefined {
    const value = this.optional(name);
    if (value === undefined && typeof this.#own(name) === "string") {
      throw new InvalidField(`${name} must not be blank; leave it out for the default.`);
    }
    return value;
  }

  boolean(name: string, absent: boolean): boolean {
    const value = this.#own(name) ?? absent;
    if (typeof value === "boolean") return value;
    throw new InvalidField(`${name} must be true or false.`);
  }

  wakeMode(name: string): WakeMode {
    const value = this.#own(name) ?? "now";
    if (value === "now" || value === "next-heartbeat") return value;
    throw new InvalidField(`${name} must be one of now, next-heartbeat.`);
  }

  /** The modes of a wake mean nothing here, and callers who send them along are not to be turned away. */
  deliverMode(name: string): "deliver" | undefined {
    const value = this.#own(name) ?? undefined;
    if (value === "deliver") return value;
    if (value === undefined || value === "now" || value === "next-heartbeat") return undefined;
    throw new InvalidField(`${name} must be deliver, or be left out.`);
  }

  sessionMode(name: string): SessionMode | undefined {
    const value = this.#own(name) ?? undefined;
    if (value === undefined || value === "isolated" || value === "persistent") return value;
    throw new InvalidField(`${name} must be one of isolated, persistent.`);
  }

  seconds(name: string, maximum: number): number | undefined {
    const value = this.#own(name) ?? undefined;
    if (value === undefined) return undefined;
    if (typeof value === "number" && value > 0 && value <= maximum) return value;
    throw new InvalidField(`${name} must be a number of seconds above 0 and at most ${maximum}.`);
  }

  #own(name: string): unknown {
    return Object.hasOwn(this.#payload, name) ? this.#payload[name] : undefined;
  }
}
