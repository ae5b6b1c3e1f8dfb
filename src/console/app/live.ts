import { signal } from "@preact/signals";
import { isSignedIn, read } from "./client.ts";

/** `off` while the connection is lost; the browser connects again by itself. */
export const connection = signal<"on" | "off">("off");

type Listener = () => Promise<void>;

const listeners = new Set<Listener>();
/** A page reads its list at most this often, however many calls arrive; less often where that takes long. */
const EVERY_MS = 1_000;
const TIMES_AS_LONG = 50;
/** One read that stalls, as while the gateway starts, must not leave the page old for minutes. */
const MAX_WAIT_MS = 30_000;
/** What is no delivery, such as a pause or a problem of the gateway, changes without an event. */
const WITHOUT_EVENT_MS = 10_000;
let due: ReturnType<typeof setTimeout> | undefined;
let waitMs = EVERY_MS;
/** Reads that have begun and not ended. */
let reading = 0;
let source: EventSource | undefined;

/** Calls `listener` after deliveries have changed, and now and then; returns what ends that. */
export function onChange(listener: Listener): () => void {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
}

/** Ends the connection: without a sign-in nothing is read. */
export function disconnect(): void {
  source?.close();
  source = undefined;
  connection.value = "off";
}

/**
 * Connects whoever is signed in and looks at the page. A browser has six connections to a host for all its tabs: those
 * behind another would take them all, and each further tab would wait for good.
 */
export function connect(): void {
  if (source !== undefined || !isSignedIn.value || document.visibilityState === "hidden") return;
  const opened = new EventSource("api/events");
  source = opened;
  opened.addEventListener("open", () => {
    connection.value = "on";
    // What was missed meanwhile is shown soon, however long the read before took.
    clearTimeout(due);
    due = undefined;
    waitMs = EVERY_MS;
    announce();
  });
  opened.addEventListener("error", () => {
    if (source !== opened) return;
    connection.value = "off";
    // A browser gives up after an answer that is an error, such as that of a gateway that starts.
    if (opened.readyState !== EventSource.CLOSED) return;
    source = undefined;
    setTimeout(() => void connectAgain(), EVERY_MS);
  });
  opened.addEventListener("change", announce);
}

/** The browser does not say which answer it was; that of `status` says whether the sign-in lasts. */
async function connectAgain(): Promise<void> {
  await read("status").catch(() => undefined);
  connect();
}

document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "hidden") disconnect();
  else connect();
});

setInterval(() => {
  if (source !== undefined && reading === 0) announce();
}, WITHOUT_EVENT_MS);

function announce(): void {
  due ??= setTimeout(() => void readAgain(), waitMs);
}

async function readAgain(): Promise<void> {
  due = undefined;
  const startMs = performance.now();
  reading++;
  await Promise.all(Array.from(listeners, (listener) => listener()));
  reading--;
  const tookMs = performance.now() - startMs;
  waitMs = Math.min(Math.max(EVERY_MS, TIMES_AS_LONG * tookMs), MAX_WAIT_MS);
}
