import type { PresetSample } from "../../preset.ts";

const sentryItself = { type: "application", id: "sentry", name: "Sentry" };

const headers = (resource: string, request: string) => ({
  "sentry-hook-resource": resource,
  "sentry-hook-timestamp": "1795176000",
  "request-id": request,
});

const exception = {
  values: [
    {
      type: "TypeError",
      value: "session is not defined",
      stacktrace: {
        frames: [
          { function: "listen", filename: "node:net", lineno: 1700, in_app: false },
          { function: "handle", filename: "src/server.ts", lineno: 21, in_app: true },
          { function: "login", filename: "src/login.ts", lineno: 8, in_app: true },
        ],
      },
    },
  ],
};

/** Payloads of Sentry, shortened to the fields that a message uses. */
export const sentrySamples: Readonly<Record<string, PresetSample>> = {
  issue: {
    headers: headers("issue", "c1a50000-0000-4000-8000-000000000001"),
    payload: {
      action: "created",
      actor: sentryItself,
      installation: { uuid: "c1a50000-0000-4000-8000-0000000000aa" },
      data: {
        issue: {
          id: "1170820242",
          shortId: "APP-4",
          title: "TypeError: session is not defined",
          culprit: "src/login.ts in login",
          level: "error",
          status: "unresolved",
          count: "3",
          userCount: 2,
          firstSeen: "2026-11-20T11:58:00.000000Z",
          project: { id: "1", name: "App", slug: "app" },
          web_url: "https://sentry.example.com/organizations/acme/issues/1170820242/",
        },
      },
    },
  },
  event_alert: {
    headers: headers("event_alert", "c1a50000-0000-4000-8000-000000000002"),
    payload: {
      action: "triggered",
      actor: sentryItself,
      installation: { uuid: "c1a50000-0000-4000-8000-0000000000aa" },
      data: {
        event: {
          event_id: "e4874d664c3540c1a32eab185f12c5ab",
          title: "TypeError: session is not defined",
          culprit: "src/login.ts in login",
          level: "error",
          environment: "production",
          release: "app@1.4.2",
          exception,
          url: "https://sentry.example.com/api/0/projects/acme/app/events/e4874d664c3540c1a32eab185f12c5ab/",
          web_url: "https://sentry.example.com/organizations/acme/issues/1170820242/events/e4874d66/",
          issue_id: "1170820242",
        },
        triggered_rule: "More than 10 errors an hour",
      },
    },
  },
  metric_alert: {
    headers: headers("metric_alert", "c1a50000-0000-4000-8000-000000000003"),
    payload: {
      action: "critical",
      actor: sentryItself,
      installation: { uuid: "c1a50000-0000-4000-8000-0000000000aa" },
      data: {
        metric_alert: { id: "4", projects: ["app"], alert_rule: { name: "Too many errors", aggregate: "count()" } },
        description_title: "Critical: Too many errors",
        description_text: "1000 events in the last 10 minutes",
        web_url: "https://sentry.example.com/organizations/acme/alerts/rules/details/4/",
      },
    },
  },
  installation: {
    headers: headers("installation", "c1a50000-0000-4000-8000-000000000004"),
    payload: {
      action: "created",
      actor: { id: 1, name: "Ada Lund", type: "user" },
      data: {
        installation: {
          uuid: "c1a50000-0000-4000-8000-0000000000aa",
          app: { uuid: "c1a50000-0000-4000-8000-0000000000bb", slug: "gateway" },
          organization: { slug: "acme" },
          code: "made-up-grant-code",
          status: "pending",
        },
      },
    },
  },
};
