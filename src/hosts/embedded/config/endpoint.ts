/** The URL, the headers and the secrets of what the gateway calls. */
import { validateHeaderName, validateHeaderValue } from "node:http";
import type { Findings } from "../../../config/errors.ts";
import { readSecrets, type SecretInput, type SecretSources } from "../../../config/secrets.ts";
import { type KeyPath, showKeyPath } from "../../../config/show-value.ts";

export interface EndpointContext {
  readonly sources: SecretSources;
  readonly findings: Findings;
}

/** The headers of a configuration, secrets resolved. */
export function readHeaders(
  written: Readonly<Record<string, SecretInput>>,
  where: KeyPath,
  context: EndpointContext,
): Readonly<Record<string, string>> {
  const headers: [string, string][] = [];
  for (const [name, input] of Object.entries(written)) {
    const path = showKeyPath([...where, name]);
    const value = readSecret(input, path, context);
    if (value === undefined) continue;
    if (isHeader(name, value)) headers.push([name, value]);
    else context.findings.refuse(path, "is not a header: its name or its value holds characters that none can have");
  }
  return Object.fromEntries(headers);
}

function isHeader(name: string, value: string): boolean {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
}

/** One secret, where a list would say nothing. */
export function readSecret(
  input: SecretInput,
  path: string,
  { sources, findings }: EndpointContext,
): string | undefined {
  const [secret, ...others] = readSecrets(input, path, sources, findings);
  if (others.length > 0) findings.refuse(path, "holds several secrets; one is used here, so write one");
  return secret?.value;
}

/** Refuses what is no http or https URL, and one with a password in it. */
export function requireUrl(text: string, path: string, { findings }: EndpointContext): void {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) {
    findings.refuse(path, 'is not an http or https URL; write for example "https://example.com/v1"');
  } else if (url.username !== "" || url.password !== "") {
    findings.refuse(path, "holds a user name or password, which requests do not send; use headers or a secret");
  }
}
