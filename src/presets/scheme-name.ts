import type { AuthInput } from "../config/auth-schema.ts";
import type { Preset } from "./preset.ts";

/** How a preset's sender proves who it is, in a few words for lists: `HMAC-SHA256 in x-hub-signature-256`. */
export function schemeName(preset: Preset): string {
  const auth = preset.auth(EXAMPLE_SETTINGS);
  const from = auth.from === undefined ? "" : [auth.from].flat()[0]!;
  switch (auth.scheme) {
    case "token":
      return "hook token";
    case "secret":
      return `shared secret in ${placeName(from === "" ? "header:authorization" : from)}`;
    case "basic":
      return "user name and password (Basic)";
    case "jwt":
      return "token of an identity provider (JWT)";
    default:
      return `${algorithmName(auth)} in ${placeName(from)}`;
  }
}

/** Settings that are not there print nothing; no preset's scheme changes with them. */
const EXAMPLE_SETTINGS = Object.freeze({});

function algorithmName({ algorithm = "hmac-sha256", certificate }: AuthInput): string {
  const name = typeof algorithm === "string" ? algorithm : (Object.values(algorithm.values).at(-1) ?? "");
  return `${name.replace("ed25519", "Ed25519").replace(/^[a-z]+(?=-)|sha/gu, (word) => word.toUpperCase())}${certificate ? " by certificate" : ""}`;
}

function placeName(source: string): string {
  if (source === "path") return "the path";
  const [kind = "", name = ""] = source.split(/:(.*)/u);
  if (kind === "header") return name;
  return kind === "query" ? `the query parameter ${name}` : `the body's ${name}`;
}
