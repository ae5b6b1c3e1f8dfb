import Type, { type Static } from "typebox";
import type { AuthSources } from "./auth/secrets.ts";
import type { Findings } from "./errors.ts";
import type { MappingConfig } from "./mapping/schema.ts";
import { secret, text } from "./schema-parts.ts";
import { readSecrets, secretProblem } from "./secrets.ts";

export interface CallbacksConfig {
  /** Host names in lower case; `*.example.com` matches every name below it. */
  readonly hosts: readonly string[];
  /** Signs by Standard Webhooks: `whsec_` and base64, or base64. */
  readonly secret: string;
}

/** At least two labels, after a `*.` too; the last one begins with a letter, as no address does. */
const HOST = "^(?:\\*\\.)?(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\\.)+[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?$";

/** `hooks.callbacks`. */
export const CallbacksSchema = Type.Object(
  {
    hosts: Type.Array(
      text({
        description: "",
        title: 'a host name such as "ci.example.com" or "*.example.com"',
        maxLength: 253,
        pattern: HOST,
      }),
      {
        minItems: 1,
        maxItems: 100,
        description: "Hosts that results may be sent to, over https only; `*.` at the start matches every name below.",
      },
    ),
    secret: secret(
      "Signs the results by Standard Webhooks: `whsec_` and base64, or base64, of at least 24 random bytes.",
    ),
  },
  {
    additionalProperties: false,
    description: "Lets callers of `/agent` name a `callbackUrl` that receives the result. Absent: they may not.",
  },
);

const WHERE = "hooks.callbacks";
const WHSEC = /^whsec_/;
/** Standard Webhooks 1.0.0, "Signature scheme": between 24 and 64 bytes. */
const MIN_BYTES = 24;
const MAX_BYTES = 64;
/** Random bytes of that number have hardly ever fewer different ones than 16. */
const MIN_DIFFERENT = 8;
const MAKE_ONE = 'make one with: echo "whsec_$(openssl rand -base64 32)"';

/** Reads `hooks.callbacks`; `undefined` while hooks are off and when its secret is refused. */
export function readCallbacks(
  input: Static<typeof CallbacksSchema> | undefined,
  sources: AuthSources,
  findings: Findings,
): CallbacksConfig | undefined {
  if (input === undefined || sources === undefined) return undefined;
  const hosts = [...new Set(input.hosts.map((host) => host.toLowerCase()))];
  const [found] = readSecrets(input.secret, `${WHERE}.secret`, sources, findings);
  if (found === undefined) return undefined;
  const problem = secretProblem(found.value, sources) ?? callbackKeyProblem(found.value);
  if (problem === undefined) return { hosts, secret: found.value };
  findings.refuse(`${WHERE}.secret`, problem);
  return undefined;
}

/** The reason why a text is no key of Standard Webhooks or an easy one to guess, without any part of the text. */
function callbackKeyProblem(value: string): string | undefined {
  const digits = value.replace(WHSEC, "");
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(digits) || digits.replace(/=+$/, "").length % 4 === 1) {
    return `is not base64, with or without whsec_ before it; ${MAKE_ONE}`;
  }
  const bytes = Buffer.from(digits, "base64");
  if (bytes.length < MIN_BYTES) return `has fewer than ${MIN_BYTES} bytes; ${MAKE_ONE}`;
  if (bytes.length > MAX_BYTES) return `has more than ${MAX_BYTES} bytes; ${MAKE_ONE}`;
  return new Set(bytes).size < MIN_DIFFERENT ? `is not random; ${MAKE_ONE}` : undefined;
}

/** Refuses a secret that a sender has as well: it could sign results of its own. */
export function checkCallbackSecret(
  callbacks: CallbacksConfig | undefined,
  mappings: readonly MappingConfig[],
  findings: Findings,
): void {
  const other = mappings.find(
    ({ auth }) => callbacks !== undefined && secretsOf(auth).some((secret) => isSameKey(secret, callbacks.secret)),
  );
  if (other !== undefined) {
    findings.refuse(`${WHERE}.secret`, `is also the secret of ${other.where}; give the callbacks one of their own`);
  }
}

function isSameKey(left: string, right: string): boolean {
  return left.replace(WHSEC, "") === right.replace(WHSEC, "");
}

function secretsOf(auth: MappingConfig["auth"]): readonly string[] {
  return auth !== undefined && "secrets" in auth ? auth.secrets : [];
}
