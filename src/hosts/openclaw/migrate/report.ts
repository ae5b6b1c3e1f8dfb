/** The differences that callers and agents notice once Reveille has a block instead of OpenClaw's built-in hooks. */
import { type Fields, fieldsAt } from "../fields.ts";
import type { HostFacts } from "./host-facts.ts";
import { countOf } from "./hooks-schema.ts";
import type { MigratedBlock, MigrationNotes } from "./notes.ts";
import { reportMappings, routeOf } from "./report-mappings.ts";

const DEFAULT_PORT = 18_789;
const COMMAND = "openclaw webhooks gmail run";

/**
 * Reports the outcome of the Gmail watcher: OpenClaw starts it with the gateway only while its own hooks
 * are on; its command starts it in either case, and reads the account, the token and the URL from `hooks`.
 */
function reportGmail({ hooks, read, config }: MigratedBlock, notes: MigrationNotes): void {
  const { gmail } = hooks;
  if (gmail?.thinking !== undefined && read.mappings.some(({ preset }) => preset === "gmail")) {
    notes.add("behavior", "has no effect: OpenClaw lets no plugin choose it.", "hooks.gmail.thinking");
  }
  if (read.presets.includes("gmail")) {
    const isOpen = read.allowRequestSessionKey && read.allowedSessionKeyPrefixes.length > 0;
    notes.add(
      "behavior",
      `${read.path}/gmail: each mail is a run of its own${isOpen ? "" : ", without allowRequestSessionKey and allowedSessionKeyPrefixes, which OpenClaw demands for it"}; more than 200 mails in one call are answered 413.`,
    );
  }
  if (gmail?.account === undefined || gmail.account.trim() === "") return;
  const port: unknown = fieldsAt(config, "gateway")["port"];
  const standard = `http://127.0.0.1:${typeof port === "number" ? port : DEFAULT_PORT}${read.path}/gmail`;
  notes.add(
    "behavior",
    "The gateway no longer starts the Gmail watcher (gog gmail watch): OpenClaw does so only while hooks.enabled is true.",
    "hooks.gmail",
  );
  notes.add(
    "todo",
    `Keep this running as a service of its own, under the gateway's user: ${COMMAND} (it reads hooks.token and hooks.gmail, which stay, renews the watch, and posts to ${gmail.hookUrl === undefined ? standard : "hooks.gmail.hookUrl"}, which is ours now).`,
    "hooks.gmail",
  );
  notes.add(
    "todo",
    "openclaw webhooks gmail setup turns hooks.enabled on again; after using it, turn that off, or Reveille refuses its block because of the clash.",
    "hooks.gmail",
  );
}

/** Adds the notes that hold for this block, and none that does not. */
export function reportBehavior(adopted: MigratedBlock, notes: MigrationNotes): void {
  const note = (text: string): void => notes.add("behavior", text);
  // The largest loss of all is what the owner reads first.
  notes.add("behavior", LESS_THAN_HOOKS);
  notes.add("behavior", NO_EXPOSURES);
  notes.add("behavior", NO_RIGHTS);
  reportAnswers(adopted, note);
  reportAgentCalls(adopted, note);
  reportWakes(adopted, note);
  reportRuns(adopted, notes);
  reportMappings(adopted, notes);
  reportGmail(adopted, notes);
  reportHandling(adopted, notes);
}

type AddNote = (text: string) => void;

function reportAnswers({ hooks, read }: MigratedBlock, note: AddNote): void {
  const { path } = read;
  const own = read.mappings.filter(({ action, preset }) => action === "agent" && preset === undefined);
  const runs = [`${path}/agent`, ...own.map(routeOf(path))];
  note(
    `${[...new Set(runs)].join(", ")}: the answer is 202 in the place of 200 (as until 2026.2.26), with runId as before and deliveryId besides. A 4xx holds "error" and "code" as JSON.`,
  );
  note(
    `A call is on disk before it is answered, and waits for its turn in a queue of ${read.maxQueuedRuns.toLocaleString("en-US")} runs, ${read.concurrency} at once: the 503, 502 and 409 that OpenClaw answers when an agent does not begin in time are gone, and nothing is lost by a restart. That a run failed is seen in the main session and with: openclaw reveille deliveries`,
  );
  if (countOf(hooks.maxBodyBytes) !== undefined) {
    note(
      `maxBodyBytes: bodies over ${read.maxBodyBytes} bytes are answered 413 again; OpenClaw has a fixed 262144 since 2026.8.`,
    );
  }
}

function reportAgentCalls(adopted: MigratedBlock, note: AddNote): void {
  const { hooks, read, config, facts } = adopted;
  const path = `${read.path}/agent`;
  const defaultAgent = nameOfDefault(facts);
  if (facts.channels === undefined || facts.channels.length > 0) {
    note(
      `${path}: a call without channel and to is delivered to the last recipient, where OpenClaw since 2026.8 sends nothing; a caller that wants none says "deliver": false. One of the two alone is enough, and "last" is taken, where OpenClaw answers 400. accountId is not read.`,
    );
  }
  note(
    `${path}: an unknown agentId goes to ${defaultAgent}, where OpenClaw since 2026.8 answers 400. A field of a wrong type ("deliver": "false", "timeoutSeconds": "60") is answered 400 and not passed over.`,
  );
  if (!facts.hasDefault) {
    note(`A call that names no agent goes to ${defaultAgent}, where OpenClaw answers 400.`);
  }
  note(
    `${path}: sessionMode: "persistent" needs a sessionKey in the same call. waitForCompletion waits as "wait": true does, and is answered in the form of that.`,
  );
  note(
    `A repeated idempotency key is answered with the first answer for 24 hours, after a restart too (OpenClaw: 5 minutes, in memory), on every route; with another body it is answered 422. A key of more than 256 characters, or with other than printable ASCII, is answered 400.`,
  );
  if (hooks.allowRequestSessionKey === true) {
    note(
      `${path}: sessionKey decides which runs follow one another; the run itself has a session of its own, which is removed three days later.`,
    );
  }
  note(`${path}: ${modelWords(config)}`);
  note(
    `A reply with a secret of the gateway, hidden text or a link that neither the event has nor hooks.replies.links allows is held until you release it (OpenClaw sends it). Calls of tools are OpenClaw's own and are not checked.`,
  );
  note(`${path}: thinking is not taken, as OpenClaw lets no plugin choose it; the agent's own level is used.`);
}

/** Of agents in another file nothing is known. */
function nameOfDefault({ agentIds, defaultAgent }: HostFacts): string {
  return agentIds === undefined ? "the default agent" : defaultAgent;
}

function modelWords(config: Fields): string {
  const policy = fieldsAt(config, "plugins", "entries", "reveille", "subagent");
  const listed: unknown = policy["allowedModels"];
  const where = "plugins.entries.reveille.subagent";
  if (policy["allowModelOverride"] !== true) {
    return `a call that names a model is answered 400 until ${where} has allowModelOverride: true, and allowedModels with those that callers may name.`;
  }
  if (!Array.isArray(listed) || listed.includes("*")) return "callers may name any model, as before.";
  return `a call that names another model than ${listed.join(", ")} is answered 400; add those that callers may name to ${where}.allowedModels.`;
}

function reportWakes({ read }: MigratedBlock, note: AddNote): void {
  const route = `${read.path}/wake`;
  note(
    `${route}: the text reaches the agent inside the boundary around untrusted content, which OpenClaw puts around agent calls only. None of a burst is dropped (OpenClaw keeps 20); waiting ones come together in one turn.`,
  );
  note(
    `${route}: a mode other than "now" and "next-heartbeat" is answered 400. The answer has no eventOutcome, and equal wakes are kept apart.`,
  );
}

/** Tools that OpenClaw gives to no subagent, as far as runs are likely to miss them. */
const WITHHELD = ["message", "automations", "sessions_send", "gateway", "session_status", "agents_list"] as const;

const LESS_THAN_HOOKS = `Each run is a turn of a subagent, which OpenClaw gives less than a turn of its hooks: no ${WITHHELD.join(", ")} or conversations_* among its tools, a shorter system prompt, and of the agent's files AGENTS.md alone, without SOUL.md, IDENTITY.md, USER.md and MEMORY.md. What a run has to know belongs into AGENTS.md or the message, and what it has to send into its reply. A wake has the whole agent.`;

const NO_EXPOSURES =
  'OpenClaw does not say what its agents can reach: count on each run to read what others wrote, reach private data and act outward. Nothing is refused for that here; limit the agent by OpenClaw\'s own tool policy and sandbox, or write tools: "none" in the mapping.';

const NO_RIGHTS =
  'Of what Reveille can leave a run by mapping and level, OpenClaw enforces agentId, deliver, channel, to, tools: "none" and permissions: "deny". A mapping with other permissions, with egress, workspace or extract, and a wake with permissions or tools, is refused here, and its calls are answered 503: limit the agent by OpenClaw\'s own tool policy and sandbox.';

function reportRuns({ read, facts, hooks }: MigratedBlock, notes: MigrationNotes): void {
  if (read.defaultSessionKey !== undefined) {
    notes.add(
      "behavior",
      `defaultSessionKey: runs that are given no session follow one another, one at a time, as "${hooks.defaultSessionKey?.trim()}"; none is refused for that.`,
    );
  }
  if (facts.timeoutSeconds === undefined) {
    notes.add(
      "behavior",
      `A run that names no time is aborted after ${read.defaultTimeoutMs / 1_000} seconds (OpenClaw: two days); for longer ones set defaultTimeoutSeconds in our block.`,
    );
  }
  notes.add(
    "behavior",
    "Every run leaves its line in the main session, also one whose reply was delivered; OpenClaw leaves none then.",
  );
  if (facts.announcesSessions) {
    notes.add(
      "todo",
      'Each run is a session of its own, and OpenClaw adds "New session created" to the main session for each; session.notifyOnCreate: false turns that off.',
    );
  }
}

function reportHandling({ hooks }: MigratedBlock, notes: MigrationNotes): void {
  notes.add(
    "todo",
    hooks.gmail?.account === undefined
      ? "The token is in hooks and in our block; hooks.token is needed only to go back. When you change it, change both."
      : "The token is in hooks and in our block: the Gmail watcher reads the one, Reveille the other. When you change it, change both.",
    "hooks.token",
  );
  notes.add(
    "todo",
    "To go back: set hooks.enabled to true and plugins.entries.reveille.enabled to false, in one edit of the file.",
  );
}
