import type { PresetSample } from "./preset.ts";

/** The bytes that a sample is sent as, and their content type. */
export function sampleBody({ format = "json", payload, headers = {} }: PresetSample): {
  readonly body: Uint8Array;
  readonly contentType: string;
} {
  const written = headers["content-type"];
  if (format === "text") return { body: Buffer.from(String(payload)), contentType: written ?? "text/plain" };
  if (format === "json")
    return { body: Buffer.from(JSON.stringify(payload)), contentType: written ?? "application/json" };
  const form = new URLSearchParams(payload as Record<string, string>).toString();
  return { body: Buffer.from(form), contentType: written ?? "application/x-www-form-urlencoded" };
}
