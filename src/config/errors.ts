/** The issues and warnings found so far while reading a configuration. */
export class Findings {
  readonly issues: ConfigIssue[] = [];
  readonly warnings: ConfigIssue[] = [];

  refuse(path: string, message: string): void {
    this.issues.push({ path, message });
  }

  /** Refuses a reference to something that is missing outside of the configuration: it breaks only its own part. */
  refuseReference(path: string, message: string): void {
    this.issues.push({ path, message, isReference: true });
  }

  warn(path: string, message: string): void {
    this.warnings.push({ path, message });
  }
}

/** One thing that is wrong in a configuration. */
export interface ConfigIssue {
  /** The key as one would look for it: `hooks.mappings[3].action`. */
  readonly path: string;
  /** The problem and its remedy; never holds a secret. */
  readonly message: string;
  /** True when the configuration is well formed and what it refers to is missing: a secret, channel, model or agent. */
  readonly isReference?: boolean;
}

const MAX_LINES = 100;

/**
 * A refused configuration with every issue. The message has one line for each, such as
 * `hooks.mappings[3].action: "wak" is not one of wake, agent`. Past 100 lines the message counts the
 * rest; `issues` is complete.
 */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly issues: readonly ConfigIssue[];
  /** The warnings found in the same round; also in the message, after the issues. */
  readonly warnings: readonly ConfigIssue[];

  constructor(issues: readonly ConfigIssue[], warnings: readonly ConfigIssue[] = []) {
    super([...configLines(issues), ...configLines(warnings).map((line) => `warning  ${line}`)].join("\n"));
    this.issues = issues;
    this.warnings = warnings;
  }
}

/** One line for each issue or warning: at most 100, and one that counts the rest. */
export function configLines(issues: readonly ConfigIssue[]): string[] {
  const lines = issues.slice(0, MAX_LINES).map(({ path, message }) => `${path}: ${message}`);
  if (issues.length > MAX_LINES) lines.push(`... and ${issues.length - MAX_LINES} more`);
  return lines;
}

/** The configuration error that an error is or that caused it: hooks wrap what their taps throw. */
export function findConfigError(error: unknown): ConfigError | undefined {
  let cause = error;
  for (let depth = 0; depth < maxDepth && cause instanceof Error; depth++) {
    if (cause instanceof ConfigError) return cause;
    ({ cause } = cause);
  }
  return undefined;
}

const maxDepth = 10;
