const DEFAULT_PORTS: Readonly<Record<string, string>> = { "https:": "443", "http:": "80" };

const BASE = /^(https?:)\/\/([^/?#]*?)(?::([0-9]+))?([/?#].*)?$/i;

/**
 * The ways to write the start of a URL: as it is, and without its port or, when it has none, with the
 * default one of its protocol. Twilio signs either.
 */
export function urlBases(url: string): readonly string[] {
  const parts = BASE.exec(url);
  if (parts === null) return [url];
  const [, protocol, host, port, rest = ""] = parts;
  const suffix = port === undefined ? `:${DEFAULT_PORTS[protocol!.toLowerCase()]}` : "";
  return [url, `${protocol}//${host}${suffix}${rest}`];
}
