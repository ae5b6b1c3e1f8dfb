/** Reads the embedded gateway's configuration file. */
import { readFileSync, statSync } from "node:fs";
import JSON5 from "json5";
import { ConfigError } from "../../../config/errors.ts";
import type { ConfigIssue } from "../../../config/errors.ts";
import { Findings } from "../../../config/errors.ts";
import type { GatewayConfig } from "./file.ts";
import { GatewaySchema } from "./schema.ts";
import type { GatewayFile } from "./schema.ts";
import { readSections } from "./gateway.ts";
import { refusalOf } from "./refuse.ts";
import type { GatewayOverrides } from "./gateway.ts";
import type { SetAsideParts } from "./models.ts";
import { compileSchemaCheck } from "../../../config/schema-check.ts";
import { othersMayUse } from "../../../config/secrets.ts";
import { showKeyPath } from "../../../config/show-value.ts";
import { repeatedKeys } from "./json5-tokens.ts";
import { substituteEnv } from "./substitute-env.ts";
import type { Environment } from "./substitute-env.ts";

export interface ReadConfigOptions {
  /** Absolute path of the file. */
  readonly file: string;
  readonly env: Environment;
  readonly overrides?: GatewayOverrides;
  /** Present: a provider or a channel whose secret is missing is set aside. Absent: it refuses the file. */
  readonly setAside?: SetAsideParts | undefined;
}

export interface ReadConfig {
  readonly config: GatewayConfig;
  /** Warnings about parts that work. */
  readonly warnings: readonly ConfigIssue[];
  /** The file's text. */
  readonly text: string;
  /** The file as it is written, before `${VAR}` is replaced; holds secrets. */
  readonly written: object;
}

const check = compileSchemaCheck(GatewaySchema);

/**
 * Reads, validates and completes the configuration. Throws a {@link ConfigError} that names every
 * key that is wrong, with what to write instead; no secret is part of any message.
 */
export function readGatewayConfig({ file, env, overrides = {}, setAside }: ReadConfigOptions): ReadConfig {
  const text = readText(file);
  const written = parseText(text, file);
  const { value, issues } = substituteEnv(written, env);
  const schema = check(value);
  const refuse = (): ConfigError =>
    refusalOf(value as object, { references: issues, schema }, { file, env, overrides });
  if (issues.length > 0 || schema.length > 0) throw refuse();
  const findings = new Findings();
  const config = readSections(value as GatewayFile, { file, env, overrides, findings, setAside });
  if (findings.issues.length > 0) throw refuse();
  return { config, warnings: [...modeWarnings(file), ...repeatWarnings(text), ...findings.warnings], text, written };
}

const ADVICE: Readonly<Record<string, string>> = {
  ENOENT: "; reveille init writes one, and --config names one elsewhere",
  EACCES: "; run the command as the user of the gateway, or as root",
};

/** The text of the file. Throws a {@link ConfigError} when it cannot be read. */
export function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
    throw new ConfigError([{ path: file, message: `the configuration cannot be read (${code})${ADVICE[code] ?? ""}` }]);
  }
}

/** The object that a file's text holds. Throws a {@link ConfigError} for another value, and for what is not JSON5. */
export function parseText(text: string, file: string): object {
  let value: unknown;
  try {
    value = JSON5.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^JSON5: /u, "") : String(error);
    throw new ConfigError([{ path: file, message: `the configuration is not JSON5: ${reason}` }]);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new ConfigError([{ path: file, message: "the configuration is not an object; write { gateway: { ... } }" }]);
}

/** A block that was pasted beside one of the same name would take its place in silence. */
function repeatWarnings(text: string): readonly ConfigIssue[] {
  return repeatedKeys(text).map((keys) => ({
    path: showKeyPath(keys),
    message: "is written twice, and only the last one counts; make one of both",
  }));
}

function modeWarnings(file: string): readonly ConfigIssue[] {
  if (!othersMayUse(statSync(file))) return [];
  return [{ path: file, message: "others than its owner may use this file, which may hold secrets; chmod it to 600" }];
}
