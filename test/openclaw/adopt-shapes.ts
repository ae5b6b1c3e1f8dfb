/** Calls of the senders of recorded configurations, and what has to come of them whoever takes them. */

/** Stands for who takes the call, so that no text is heard twice. */
export const SIDE = "<side>";

export interface ShapeCall {
  /** Below the prefix of the hooks. */
  readonly path: string;
  readonly body: object;
  /** What OpenClaw's built-in hooks and Reveille answer. */
  readonly statuses: readonly [builtIn: number, ours: number];
  /** What an agent is told; absent when nobody is. */
  readonly heard?: { readonly text: string; readonly agent: string; readonly by: "run" | "wake" };
  /** What is sent to Telegram. */
  readonly sent?: { readonly to: string; readonly text: string };
}

export interface Shape {
  /** The recorded configuration. */
  readonly name: string;
  readonly calls: readonly ShapeCall[];
  /** Why only ours are called: what the built-in hooks of the newest version do not take, or what was seen before. */
  readonly oursOnly?: string;
}

const RUN = [200, 202] as const;
const WAKE = [200, 200] as const;

function run(path: string, body: object, text: string, agent = "main"): ShapeCall {
  return { path, body, statuses: RUN, heard: { text, agent, by: "run" } };
}

function wake(path: string, body: object, text: string, agent = "main"): ShapeCall {
  return { path, body, statuses: WAKE, heard: { text, agent, by: "wake" } };
}

/** A direct call whose run leaves the main session alone. */
function direct(message: string, more: object = {}): ShapeCall {
  const body = { message, wakeMode: "next-heartbeat", deliver: false, ...more };
  return run("agent", body, message, "agentId" in more ? String(more.agentId).toLowerCase() : "main");
}

/** Each change of the built-in hooks is a reload of the host, which takes seconds. */
const NOTHING_NEW = "the built-in hooks do nothing with it that they have not done before";

export const SHAPES_WITH_CALLS: readonly Shape[] = [
  // First: with it the plugin is loaded, and its entry allows the model of all others.
  {
    name: "2026.9.6-everything",
    calls: [
      run("whole", { source: "recorded", id: 1, items: ["one"], recipient: "778" }, "Whole: one at 20", "ops"),
      wake("nudge", { text: `up, ${SIDE}` }, `Nudge: up, ${SIDE}`, "ops"),
    ],
  },
  {
    name: "2026.1.29-token-alone",
    calls: [
      wake("wake", { text: `The oldest wake of ${SIDE}.` }, `The oldest wake of ${SIDE}.`),
      direct(`The oldest call of ${SIDE}.`),
      { path: "agent", body: { message: " " }, statuses: [400, 400] },
      { path: "nowhere", body: {}, statuses: [404, 404] },
    ],
  },
  {
    name: "2026.3.31-source-path-channel",
    calls: [
      {
        ...run("ingest", { source: "ci", repo: "reveille", result: "failed" }, "Build of reveille failed [say ci]"),
        sent: { to: "777", text: "Done: ci" },
      },
      run("ingest", { source: "deploy", version: "1.2.3" }, "Deployed 1.2.3"),
      { path: "ingest", body: { source: "else" }, statuses: [404, 404] },
    ],
  },
  {
    name: "2026.5.7-gmail-stock",
    calls: [
      {
        ...run(
          "gmail",
          {
            source: "gmail",
            messages: [{ id: "m1", from: "Ada", subject: "Hello", snippet: "Dear", body: "Dear you" }],
          },
          "New email from Ada\nSubject: Hello\nDear\nDear you",
        ),
        // A preset's call is answered 200 on both sides.
        statuses: [200, 200],
      },
    ],
  },
  {
    name: "2026.8.2-fan-out",
    calls: [
      {
        ...run("alerts", { alerts: [{ name: "first" }, { name: "second" }] }, "Alert first"),
        body: { alerts: [{ name: "first" }, { name: "second" }] },
      },
      { path: "alerts", body: { alerts: [] }, statuses: [204, 204] },
    ],
  },
  {
    name: "transforms",
    calls: [
      run("shaped", { word: "clay" }, "Shaped of clay"),
      { path: "skipped", body: { word: "none" }, statuses: [204, 204] },
    ],
  },
  {
    name: "wake-next-heartbeat",
    calls: [
      { path: "later", body: { text: "at leisure" }, statuses: WAKE },
      wake("now", { text: `at once, ${SIDE}` }, `Now: at once, ${SIDE}`),
    ],
  },
  // Only our block changes between these, which costs the host no reload.
  {
    name: "2026.2.12-agent-ids",
    oursOnly: NOTHING_NEW,
    calls: [
      run("alerts", { title: "disk" }, "Alert: disk", "ops"),
      direct("Only for ops.", { agentId: "ops" }),
      { path: "agent", body: { message: "Not for home.", agentId: "home" }, statuses: [400, 400] },
      { path: "agent", body: { message: "Not there.", sessionKey: "hook:mine" }, statuses: [400, 400] },
    ],
  },
  {
    name: "2026.4.20-keys-and-prefixes",
    oursOnly: NOTHING_NEW,
    calls: [
      run("tickets", { id: 8, subject: "found" }, "Ticket 8: found"),
      { path: "agent", body: { message: "Elsewhere.", sessionKey: "other:1" }, statuses: [400, 400] },
      direct("In a session of its own choice.", { sessionKey: "ticket:9" }),
    ],
  },
  { name: "2026.8.5-persistent", oursOnly: NOTHING_NEW, calls: [run("diary", { note: "rain" }, "Note: rain")] },
  {
    name: "agents-as-entries",
    oursOnly: NOTHING_NEW,
    calls: [run("night", { text: "dark" }, "Night: dark", "night_watch")],
  },
  {
    name: "unsafe-content",
    oursOnly: NOTHING_NEW,
    calls: [run("cron", { task: "the dishes" }, "Do the dishes with "), wake("tick", { n: SIDE }, `Tick ${SIDE}`)],
  },
  {
    name: "2026.3.31-templated-key-alone",
    oursOnly: "a template as sessionKey without allowedSessionKeyPrefixes",
    calls: [
      run("tickets", { id: 7, subject: "lost" }, "Ticket 7: lost"),
      run("sums", { day: "today" }, "Sum up today"),
    ],
  },
  {
    name: "2026.7.1-body-limit",
    oursOnly: "maxBodyBytes, and numbers as strings",
    calls: [
      run("long", { text: "short enough" }, "Long: short enough"),
      { path: "long", body: { text: "x".repeat(3_000) }, statuses: [413, 413] },
    ],
  },
  { name: "custom-path", oursOnly: NOTHING_NEW, calls: [direct("At another path.")] },
  { name: "token-from-the-environment", oursOnly: NOTHING_NEW, calls: [direct("By a token of the environment.")] },
  {
    name: "shadowed-mappings",
    oursOnly: NOTHING_NEW,
    calls: [run("one", { text: "only" }, "First: only"), run("any/where", { text: "rest" }, "Rest at any/where: rest")],
  },
  {
    name: "gmail-mapping-of-ones-own",
    oursOnly: NOTHING_NEW,
    calls: [run("gmail", { messages: [{ from: "Bob" }] }, "Mail from Bob")],
  },
  {
    name: "models",
    oursOnly: NOTHING_NEW,
    calls: [run("reference", { text: "m" }, "By reference: m"), run("alias", { text: "n" }, "By alias: n")],
  },
];
