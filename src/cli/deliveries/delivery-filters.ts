/** The options that say which deliveries are meant. */
import type { Command } from "commander";

export interface FilterOptions {
  readonly state?: string;
  readonly route?: string;
  readonly sender?: string;
  readonly since?: string;
  readonly until?: string;
  readonly text?: string;
}

const NAMES = ["state", "route", "sender", "since", "until", "text"] as const;

export function withFilters(command: Command): Command {
  return command
    .option("--state <state>", "those in that state: queued, failed, filtered ...")
    .option("--route <route>", "those that came in under that path below the prefix")
    .option("--sender <name>", "those that that sender caused")
    .option("--since <time>", "those received from then on: 2h, 7d, 2026-02-27, 2026-02-27T10:00:00Z")
    .option("--until <time>", "those received before then")
    .option("--text <text>", "those with that text in name, event, reason or message");
}

/** What was given of them; the gateway judges it. */
export function filtersOf(options: FilterOptions): Readonly<Record<string, string>> {
  const given = NAMES.flatMap((name) => {
    const value = options[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(given);
}
