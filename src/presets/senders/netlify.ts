import { itemLines, joinText, labeled, listAt, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import { definePreset } from "../define-preset.ts";
import type { PresetContext, PresetEvent } from "../preset.ts";
import { dataLines, withoutKeys } from "../message/data-lines.ts";
import { bodyAt, capitalized, headline, lineAt, phrase, spoken, titled } from "../message/headline.ts";
import { shortSha } from "../message/list-lines.ts";
import { timeText } from "../message/value-text.ts";

const deploy = {
  id: "5ebc34bf4fea0b01f02efa3a",
  site_id: "fa4dd95a-994e-4f89-8a7a-2d9e9fc36a32",
  build_id: "5ebc34bf4fea0b01f02efa38",
  name: "acme-site",
  url: "https://www.acme.example.com",
  ssl_url: "https://www.acme.example.com",
  admin_url: "https://app.netlify.com/sites/acme-site",
  deploy_url: "http://main--acme-site.netlify.app",
  deploy_ssl_url: "https://main--acme-site.netlify.app",
  created_at: "2026-11-20T11:56:15.346Z",
  user_id: "5ace049efdd72a6b9aa9539c",
  commit_ref: "9c1185a5c5e9fc54612808977ee8f548b2258d31",
  commit_url: "https://github.com/acme/site/commit/9c1185a5c5e9fc54612808977ee8f548b2258d31",
  review_id: null,
  review_url: null,
  branch: "main",
  locked: null,
  title: "Fix login",
  context: "production",
};

/** Outgoing webhooks of Netlify, about deploys and forms: a token holds the digest of the body. */
export const netlify = definePreset({
  name: "netlify",
  title: "Netlify",
  documentation: "https://docs.netlify.com/site-deploys/notifications/",
  auth: {
    scheme: "jwt",
    algorithm: "hmac-sha256",
    from: "header:x-webhook-signature",
    issuer: ["netlify"],
    bodyDigest: { from: "claim:sha256" },
  },
  secret: { label: "JWS secret token", madeBy: "owner" },
  event: eventOf,
  eventWhere: "header:x-netlify-event, or deploy. and body:state",
  deliveryId: {
    from: deliveryIdOf,
    where: "body:id + body:state + body:locked + body:updated_at",
    signed: true,
  },
  ignored: "nothing. Netlify marks no bots",
  mapping: { name: "Netlify", links: ["app.netlify.com"], maxBodyBytes: 1_048_576 },
  message: (event) => (textAt(event.payload, "form_name") === "" ? deployMessage(event) : formMessage(event)),
  samples: {
    deploy_failed: {
      headers: { "x-netlify-event": "deploy_failed" },
      payload: {
        ...deploy,
        state: "error",
        updated_at: "2026-11-20T11:58:56.738Z",
        error_message: "Failed during stage 'building site': Build script returned non-zero exit code: 2",
        published_at: null,
        deploy_time: null,
      },
    },
    deploy_created: {
      headers: { "x-netlify-event": "deploy_created" },
      payload: {
        ...deploy,
        state: "ready",
        updated_at: "2026-11-20T11:59:56.738Z",
        error_message: null,
        published_at: "2026-11-20T11:59:56.634Z",
        deploy_time: 159,
        review_id: 42,
        review_url: "https://github.com/acme/site/pull/42",
        context: "deploy-preview",
      },
    },
    submission_created: {
      headers: { "x-netlify-event": "submission_created" },
      payload: {
        id: "5f1a8c0000000000000000a1",
        number: 7,
        form_id: "5f1a8c0000000000000000b1",
        form_name: "contact",
        site_url: "https://www.acme.example.com",
        created_at: "2026-11-20T11:59:58.000Z",
        name: "Ada Byron",
        email: "ada@example.com",
        ordered_human_fields: [
          { title: "Name", name: "name", value: "Ada Byron" },
          { title: "Message", name: "message", value: "Where is my order?" },
        ],
        data: { name: "Ada Byron", email: "ada@example.com", message: "Where is my order?", ip: "203.0.113.7" },
      },
    },
  },
  setup: [
    "Make up the {secret}, for example with openssl rand -hex 32, and set it as hooks.netlify.secret.",
    "In the project's configuration open Notifications, Deploy notifications (for forms: Form submission notifications), and add an HTTP POST request.",
    "Choose an event, paste {url} as the URL to notify, and paste the {secret}. Each event needs a notification of its own.",
  ],
});

/** One deploy is reported again when it is locked or published again; a form has an id alone. */
function deliveryIdOf({ payload }: PresetContext): string | undefined {
  const id = lineAt(payload, "id");
  const parts = ["state", "locked", "updated_at"].map((key) => lineAt(payload, key));
  return id === "" ? undefined : joinText(".", id, ...parts);
}

function eventOf({ headers, payload }: PresetContext): string | undefined {
  const named = headers["x-netlify-event"];
  if (named !== undefined && named !== "") return named;
  const state = lineAt(payload, "state");
  return state === "" ? undefined : `deploy.${state}`;
}

const STORIES: Readonly<Record<string, string>> = {
  deploy_building: "has started",
  deploy_created: "succeeded",
  deploy_failed: "failed",
  deploy_locked: "is locked: later deploys are not published",
  deploy_unlocked: "is unlocked",
  deploy_deleted: "was deleted",
};

function deployMessage({ event = "", payload }: PresetEvent): string {
  const story = Object.hasOwn(STORIES, event) ? STORIES[event]! : "";
  const site = lineAt(payload, "name");
  const about = headline(phrase("of", site), phrase("for", lineAt(payload, "context")));
  const what = story === "" ? capitalized(spoken(event)) || "Netlify event" : "Deploy";
  return messageOf(
    titled(headline(what, about, story), lineAt(payload, "title")),
    labeled("Error", bodyAt(payload, "error_message")),
    labeled("Branch", lineAt(payload, "branch")),
    labeled("Commit", headline(shortSha(lineAt(payload, "commit_ref")), lineAt(payload, "commit_url"))),
    labeled("Review", lineAt(payload, "review_url")),
    labeled("Site", lineAt(payload, "deploy_ssl_url", "ssl_url", "deploy_url", "url")),
    labeled("Log", logOf(payload)),
    labeled("Published", timeText(valueAt(payload, "published_at"))),
    labeled("Deploy", lineAt(payload, "id")),
  );
}

function logOf(payload: unknown): string {
  const [admin, id] = [lineAt(payload, "admin_url"), lineAt(payload, "id")];
  return admin === "" || id === "" ? "" : `${admin}/deploys/${id}`;
}

function formMessage({ payload }: PresetEvent): string {
  const fields = listAt(payload, "ordered_human_fields");
  return messageOf(
    headline("Form", lineAt(payload, "form_name"), "was submitted", phrase("by", lineAt(payload, "name", "email"))),
    fields.length > 0
      ? itemLines(fields, (field) => labeled(lineAt(field, "title", "name"), bodyAt(field, "value")))
      : dataLines(withoutKeys(valueAt(payload, "data"), "ip", "user_agent", "referrer")),
    labeled("Email", lineAt(payload, "email")),
    labeled("Site", lineAt(payload, "site_url")),
    labeled(
      "Ids",
      joinText(", ", phrase("submission", lineAt(payload, "id")), phrase("form", lineAt(payload, "form_id"))),
    ),
  );
}
