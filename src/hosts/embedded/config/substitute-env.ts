/** Replaces `${VAR}` in the strings of a configuration by the environment's values. */
import type { ConfigIssue } from "../../../config/errors.ts";
import { showKeyPath } from "../../../config/show-value.ts";
import type { KeyPath } from "../../../config/show-value.ts";

export interface Substituted {
  /** A copy of the value with every reference replaced. */
  readonly value: unknown;
  /** References that could not be replaced, each with the path of its key. */
  readonly issues: readonly ConfigIssue[];
}

/** The process environment, or a stand-in. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Replaces `${NAME}` in every string value by the variable of the environment; what is replaced is
 * not looked at again. `$${` represents a literal `${`. A variable that is not set, and anything
 * else behind `${`, is an issue: silence would make a guessable secret of it.
 */
export function substituteEnv(value: unknown, env: Environment): Substituted {
  const issues: ConfigIssue[] = [];
  return { value: substitute(value, [], { env, issues }), issues };
}

interface Context {
  readonly env: Environment;
  readonly issues: ConfigIssue[];
}

function substitute(value: unknown, path: KeyPath, context: Context): unknown {
  if (typeof value === "string") return substituteText(value, path, context);
  if (Array.isArray(value)) {
    return value.map((item: unknown, index) => substitute(item, [...path, index], context));
  }
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, substitute(item, [...path, key], context)]);
  // Object.fromEntries defines own properties, so that a key named __proto__ stays a key.
  return Object.fromEntries(entries) as unknown;
}

const reference = /\$(\$\{)|\$\{([^}]*\}?)/gu;
const variable = /^([A-Za-z_][A-Za-z0-9_]*)\}$/u;

function substituteText(text: string, path: KeyPath, { env, issues }: Context): string {
  if (!text.includes("${")) return text;
  return text.replace(reference, (whole: string, escaped: string | undefined, inner: string) => {
    if (escaped !== undefined) return escaped;
    const name = variable.exec(inner)?.[1];
    if (name === undefined) {
      issues.push({
        path: showKeyPath(path),
        message: `"\${" is not followed by the name of an environment variable and "}"; write "$\${" for the characters themselves`,
      });
      return whole;
    }
    const replacement = Object.hasOwn(env, name) ? env[name] : undefined;
    if (replacement === undefined) {
      issues.push({
        path: showKeyPath(path),
        message: `the environment variable ${name} is not set; set it, or write "$\${${name}}" for the characters themselves`,
      });
      return whole;
    }
    return replacement;
  });
}
