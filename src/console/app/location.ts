import { signal } from "@preact/signals";

/** The page that the URL names: its fragment is `#/<page>/<key>?<filters>`. */
export interface Location {
  readonly page: string;
  readonly key: string;
  readonly filters: URLSearchParams;
}

function readLocation(): Location {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/u, "").split("?", 2);
  const [page = "", ...key] = path.split("/");
  return { page, key: decode(key.join("/")), filters: new URLSearchParams(query) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const LINK = /^#sign-in=([\w-]{1,100})$/u;

/** The nonce of a one-time link that is not used yet; it leaves the address bar and the history at once. */
export const link = signal<string | undefined>(undefined);

function takeLink(): void {
  const [, nonce] = LINK.exec(location.hash) ?? [];
  if (nonce === undefined) return;
  history.replaceState(null, "", "#/");
  link.value = nonce;
}

takeLink();
export const current = signal(readLocation());

// A link that is opened in a tab with the page changes the fragment alone.
addEventListener("hashchange", () => {
  takeLink();
  current.value = readLocation();
});

/** The link to a page; a key may hold anything. */
export function linkTo(page: string, key = "", filters: Readonly<Record<string, string>> = {}): string {
  const query = new URLSearchParams(Object.entries(filters).filter(([, value]) => value !== "")).toString();
  return `#/${page}${key === "" ? "" : `/${encodeURIComponent(key)}`}${query === "" ? "" : `?${query}`}`;
}
