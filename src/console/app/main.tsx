import { effect, signal } from "@preact/signals";
import { render, type JSX } from "preact";
import { useEffect } from "preact/hooks";
import { errorText, isSignedIn, read, sendRequest } from "./client.ts";
import { connect, connection, disconnect } from "./live.ts";
import { current, link, linkTo } from "./location.ts";
import { ApprovalsView } from "./pages/approvals.tsx";
import { DeliveriesView } from "./pages/deliveries.tsx";
import { DeliveryView } from "./pages/delivery.tsx";
import { HooksView } from "./pages/hooks.tsx";
import { BacktestView } from "./pages/backtest.tsx";
import { PlaygroundView } from "./pages/preview.tsx";
import { OverviewView } from "./pages/overview.tsx";
import { OutboxView, SessionView, SessionsView } from "./pages/sessions.tsx";
import { WaitsView } from "./pages/waits.tsx";
import { ActionButton } from "./parts.tsx";
import { SignIn } from "./sign-in.tsx";

const PAGES: readonly (readonly [page: string, title: string])[] = [
  ["", "Overview"],
  ["deliveries", "Deliveries"],
  ["playground", "Playground"],
  ["backtest", "Backtest"],
  ["hooks", "Senders and mappings"],
  ["sessions", "Sessions"],
  ["waits", "Waits"],
  ["approvals", "Approvals"],
  ["outbox", "Outbox"],
];

/** Pages of what a host keeps itself; in OpenClaw they are that host's. */
const OF_SESSIONS: ReadonlySet<string> = new Set(["sessions", "approvals", "outbox"]);
const hasSessions = signal(true);

async function readHost(): Promise<void> {
  const status = await read<{ readonly hasSessions: boolean }>("status").catch(() => undefined);
  hasSessions.value = status?.hasSessions ?? true;
}

effect(() => {
  if (link.value !== undefined) isSignedIn.value = false;
});

function Page(): JSX.Element {
  const { page, key, filters } = current.value;
  if (page === "deliveries" && key !== "") return <DeliveryView key={key} id={key} />;
  if (page === "deliveries") return <DeliveriesView filters={filters} />;
  if (page === "playground") return <PlaygroundView key={filters.toString()} filters={filters} />;
  if (page === "backtest") return <BacktestView filters={filters} />;
  if (page === "hooks") return <HooksView />;
  if (page === "sessions" && key !== "") return <SessionView key={key} sessionKey={key} filters={filters} />;
  if (page === "sessions") return <SessionsView filters={filters} />;
  if (page === "waits") return <WaitsView />;
  if (page === "approvals") return <ApprovalsView />;
  if (page === "outbox") return <OutboxView filters={filters} />;
  return <OverviewView />;
}

function Console(): JSX.Element {
  const { page, key } = current.value;
  const title = PAGES.find(([name]) => name === page)?.[1] ?? "Overview";
  useEffect(() => {
    document.title = `${key === "" ? title : `${title} ${key}`} · Reveille`;
    // A screen reader continues at the page, and not at the link that led to it.
    document.querySelector("main")?.focus();
  }, [page, key]);
  useEffect(() => {
    if (!isSignedIn.value) return disconnect();
    connect();
    void readHost();
  }, [isSignedIn.value]);
  if (!isSignedIn.value) return <SignIn />;
  const signOut = async (): Promise<undefined> => {
    try {
      await sendRequest("sign-out");
      isSignedIn.value = false;
    } catch (error) {
      // Without an answer the cookie may be good as before: a form to sign in would hide that.
      throw new Error(`This browser may still be signed in. ${errorText(error)} Try again.`, { cause: error });
    }
  };
  return (
    <>
      <a class="skip" href="#content" onClick={skip}>
        Skip to the page
      </a>
      <header>
        <strong>Reveille</strong>
        <nav aria-label="Pages">
          {PAGES.filter(([name]) => hasSessions.value || !OF_SESSIONS.has(name)).map(([name, text]) => (
            <a key={name} href={linkTo(name)} aria-current={name === page ? "page" : undefined}>
              {text}
            </a>
          ))}
        </nav>
        <span class="faint" role="status">
          {connection.value === "on" ? "● live" : "○ connecting"}
        </span>
        <span>
          <ActionButton label="Sign out" run={signOut} />
        </span>
      </header>
      <main id="content" tabIndex={-1}>
        <Page />
      </main>
    </>
  );
}

/** The fragment names the page, so that it cannot name a place on it. */
function skip(event: Event): void {
  event.preventDefault();
  document.querySelector("main")?.focus();
}

async function start(): Promise<void> {
  // The answer says whether the cookie is still good.
  if (link.value === undefined) await readHost();
  render(<Console />, document.querySelector("#app")!);
}

void start();
