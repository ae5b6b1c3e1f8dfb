/** The exit codes of all commands; of a process that a signal ended, 128 and the number of the signal. */
export const EXIT_CODES = { success: 0, failure: 1, SIGINT: 130, SIGTERM: 143 } as const;

/** What a code means, and for which commands where that is not all of them. */
export interface ExitMeaning {
  readonly code: string;
  readonly means: string;
}

const { success, failure, SIGINT, SIGTERM } = EXIT_CODES;

/** The one table: `docs/operate/gateway.md` shows the same. */
export const EXIT_MEANINGS: readonly ExitMeaning[] = [
  { code: `${success}`, means: "success; `serve` was stopped in order; help or the version was printed" },
  {
    code: `${failure}`,
    means: "the command line is wrong, or the configuration is not valid, or a defect ended the process",
  },
  { code: `${failure} of \`serve\``, means: "it could not start" },
  { code: `${failure} of \`doctor\``, means: "a line is a `problem`" },
  { code: `${failure} of \`send\``, means: "the call was refused, or its delivery failed" },
  {
    code: `${failure} of \`add\`, \`remove\`, \`catch-up\``,
    means: "the sender was not asked or refuses, or calls are left",
  },
  { code: `${failure} of \`probe\``, means: "a sample did not arrive" },
  { code: `${failure} of \`transform test\``, means: "the transform failed, or what it returned is not accepted" },
  {
    code: `${failure} of \`deliveries\`, \`hooks\`, \`waits\`, \`outbox\`, \`sessions\`, \`approvals\``,
    means: "the gateway does not answer or refuses, or a delivery that you named by its id was left unchanged",
  },
  {
    code: `${failure} of \`backup\`, \`restore\``,
    means: "nothing was written, or not all of it was put in its place",
  },
  {
    code: `${failure} of \`adopt\`, \`openclaw adopt\``,
    means: "something cannot be adopted, and nothing was written",
  },
  {
    code: `${SIGINT}, ${SIGTERM}`,
    means: "SIGINT or SIGTERM ended the command; for `serve`, a second one ended it at once",
  },
];

/** The table for `--help`. */
export function exitText(): string {
  const rows = EXIT_MEANINGS.map(({ code, means }) => `  ${code}: ${means}`.replaceAll("`", ""));
  return `\nExit codes:\n${rows.join("\n")}`;
}
