import type { MigrationNotes } from "./notes.ts";
import type { MigratedBlock } from "./adopted-block.ts";
import { fieldsAt } from "./fields.ts";

const DEFAULT_PORT = 18_789;
const COMMAND = "openclaw webhooks gmail run";

/**
 * Tells what becomes of the Gmail watcher: OpenClaw starts it with the gateway only while its own hooks
 * are on; its command starts it in either case, and reads the account, the token and the URL from `hooks`.
 */
export function reportGmail({ hooks, read, config }: MigratedBlock, notes: MigrationNotes): void {
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
