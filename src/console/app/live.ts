import { signal } from "@preact/signals";

/** `off` while the connection is lost; the browser connects again by itself. */
export const connection = signal<"on" | "off">("off");

type Listener = () => Promise<void>;

const listeners = new Set<Listener>();
/** A page reads its list at most this often, however many calls arrive; less often where that takes long. */
const EVERY_MS = 1_000;
const TIMES_AS_LONG = 50;
let isDue = false;
let waitMs = EVERY_MS;
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
  opened.addEventListener("change", announce);
  return opened;
}

function announce(): void {
  if (isDue) return;
  isDue = true;
  setTimeout(() => void readAgain(), waitMs);
}

async function readAgain(): Promise<void> {
  isDue = false;
  const startMs = performance.now();
  await Promise.all(Array.from(listeners, (listener) => listener()));
  waitMs = Math.max(EVERY_MS, TIMES_AS_LONG * (performance.now() - startMs));
}
