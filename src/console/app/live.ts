import { signal } from "@preact/signals";

/** `off` while the connection is lost; the browser connects again by itself. */
export const connection = signal<"on" | "off">("off");

type Listener = () => void;

const listeners = new Set<Listener>();
/** A page reads its list at most this often, however many calls arrive. */
const EVERY_MS = 1_000;
let isDue = false;
let source: EventSource | undefined;

/** Calls `listener` after deliveries have changed; returns what ends that. */
export function onChange(listener: Listener): () => void {
  listeners.add(listener);
  source ??= connect();
  return () => {
    listeners.delete(listener);
  };
}

/** Ends the connection: after a sign-out nothing is read. */
export function disconnect(): void {
  source?.close();
  source = undefined;
  connection.value = "off";
}

/** One connection for each page: a browser has six to a host. */
function connect(): EventSource {
  const opened = new EventSource("api/events");
  opened.addEventListener("open", () => {
    connection.value = "on";
  });
  opened.addEventListener("error", () => {
    connection.value = "off";
    // A browser gives up after an answer that is an error, such as that of a gateway that starts.
    if (opened.readyState !== EventSource.CLOSED || source !== opened) return;
    source = undefined;
    setTimeout(() => {
      if (listeners.size > 0) source ??= connect();
    }, EVERY_MS);
  });
  for (const name of ["change", "reset"]) opened.addEventListener(name, announce);
  return opened;
}

function announce(): void {
  if (isDue) return;
  isDue = true;
  setTimeout(() => {
    isDue = false;
    for (const listener of listeners) listener();
  }, EVERY_MS);
}
