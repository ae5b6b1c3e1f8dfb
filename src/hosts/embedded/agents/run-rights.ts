/** The rights of one turn: decides each act, asks the owner where it must, and keeps what was done. */
import { type AgentActivity, MAX_ACTIVITIES, type Permissions } from "../../../core/agent-rights.ts";
import type { Clock } from "../../../core/host.ts";
import type { CheckOutgoing } from "../../../core/outgoing/check-outgoing.ts";
import type { OwnerAnswer, Approvals } from "./approvals.ts";
import { type Act, allowsAll, decide } from "./permissions.ts";
import type { TurnIds } from "./turn.ts";

export interface RightsOptions {
  readonly own: Permissions;
  /** What is left of them, each for a reason of its own. */
  readonly lowered: readonly Permissions[];
  /** True: the owner is there, and is asked for what only a text that others wrote stands against. */
  readonly isWithOwner: boolean;
  /** Acts about which the owner decides even where the permissions allow them. */
  readonly alsoAsks?: ((act: Act) => boolean) | undefined;
  readonly approvals: Pick<Approvals, "ask">;
  readonly approvalTimeoutMs: number;
  readonly of: TurnIds;
  readonly cwd: string;
  readonly checkOutgoing?: CheckOutgoing | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onHold: (isHeld: boolean) => void;
}

/** `why`: for the agent and the attempt. */
export type Verdict = { readonly allowed: true } | { readonly allowed: false; readonly why: string };

const WHY = {
  denied: "the owner denied it",
  expired: "the owner did not answer in time",
  left: "the gateway stopped before the owner answered",
} as const satisfies Record<Exclude<OwnerAnswer, "approved">, string>;

/** Characters of titles, arguments and results that are kept. */
const MAX_KEPT_CHARS = 300;
/** Entries up to which one of a kind is kept: many calls leave no denial out, and many denials no refused host. */
const MAX_ENTRIES = {
  call: MAX_ACTIVITIES * 0.6,
  approved: MAX_ACTIVITIES * 0.8,
  denied: MAX_ACTIVITIES * 0.8,
  extracted: MAX_ACTIVITIES,
  "refused-extraction": MAX_ACTIVITIES,
  "refused-host": MAX_ACTIVITIES,
} as const satisfies Record<AgentActivity["kind"], number>;
/** Questions of one run that wait at once. */
const MAX_QUESTIONS = 10;

export class RunRights {
  readonly #options: RightsOptions;
  readonly #activity: AgentActivity[] = [];
  #denied: string | undefined;
  #questions = 0;

  constructor(options: RightsOptions) {
    this.#options = options;
  }

  /** What was done and denied, in order. */
  get activity(): readonly AgentActivity[] {
    return this.#activity;
  }

  /** The first act that was denied. */
  get denied(): string | undefined {
    return this.#denied;
  }

  /** Nothing has to be asked or denied. */
  get allowsAll(): boolean {
    return allowsAll(this.#options.own, this.#options.lowered);
  }

  /** Decides, and waits for the owner where the permissions say so. */
  async judge(act: Act): Promise<Verdict> {
    const problem = this.#options.checkOutgoing?.(textsOf(act));
    // What must not leave is not kept either.
    if (problem !== undefined) return this.#deny({ ...act, title: act.tool ?? act.kind, input: undefined }, problem);
    const { own, lowered, isWithOwner, alsoAsks, cwd } = this.#options;
    const strict = decide([own, ...lowered], act, cwd);
    const decision = strict === "deny" && isWithOwner && decide([own], act, cwd) !== "deny" ? "ask" : strict;
    if (decision === "allow" && alsoAsks?.(act) !== true) return { allowed: true };
    if (decision === "deny") return this.#deny(act, "the permissions of this run do not allow it");
    const { approvals, approvalTimeoutMs, of, signal, onHold } = this.#options;
    // All of the arguments: an answer holds for this act, not for one that begins like it.
    const question = { ...of, title: act.title, input: act.input };
    if (this.#questions >= MAX_QUESTIONS) return this.#deny(act, "too many questions of this run wait for the owner");
    this.#questions += 1;
    onHold(true);
    const answer = await approvals.ask(question, approvalTimeoutMs, signal).finally(() => {
      this.#questions -= 1;
      onHold(false);
    });
    if (answer !== "approved") return this.#deny(act, signal.aborted ? "the run was ended" : WHY[answer]);
    this.#note({ kind: "approved", title: act.title, input: act.input });
    return { allowed: true };
  }

  /** Keeps a call that was made. */
  called(act: Pick<Act, "title" | "input">, output: string | undefined): void {
    this.#note({ kind: "call", title: act.title, input: act.input, output });
  }

  /** `turns`: how many run in the process that asked for the host; it was one of them. */
  refusedHost(host: string, turns = 1): void {
    const title = cut(host);
    if (this.#activity.some((known) => known.kind === "refused-host" && known.title === title)) return;
    const output = turns === 1 ? undefined : `asked for by one of the ${turns} runs in the process`;
    this.#note({ kind: "refused-host", title: host, output });
  }

  #deny(act: Act, why: string): Verdict {
    this.#denied ??= cut(act.title);
    this.#note({ kind: "denied", title: act.title, input: act.input, output: why });
    return { allowed: false, why };
  }

  #note({ kind, title, input, output }: Omit<AgentActivity, "at">): void {
    if (this.#activity.length >= MAX_ENTRIES[kind]) return;
    this.#activity.push({
      at: new Date(this.#options.clock.now()).toISOString(),
      kind,
      title: cut(title),
      ...(input === undefined || input === "" ? {} : { input: cut(input) }),
      ...(output === undefined || output === "" ? {} : { output: cut(output) }),
    });
  }
}

/** All that the act says, its arguments as they are meant and not as JSON writes them. */
function textsOf({ title, command = "", paths = [], input = "" }: Act): string {
  const texts = [title, command, ...paths];
  try {
    collectTexts(JSON.parse(input), texts);
  } catch {
    // Arguments that are no JSON, or nested too deeply for its reader.
    texts.push(input);
  }
  return texts.join("\n");
}

function collectTexts(value: unknown, texts: string[]): void {
  if (typeof value === "string" || typeof value === "number") texts.push(String(value));
  else if (typeof value === "object" && value !== null) {
    for (const [key, member] of Object.entries(value)) {
      texts.push(key);
      collectTexts(member, texts);
    }
  }
}

function cut(text: string): string;
function cut(text: string | undefined): string | undefined;
function cut(text: string | undefined): string | undefined {
  if (text === undefined || text.length <= MAX_KEPT_CHARS) return text;
  return `${text.slice(0, MAX_KEPT_CHARS).toWellFormed()} …`;
}
