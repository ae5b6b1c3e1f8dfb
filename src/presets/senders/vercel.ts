import { definePreset } from "../define-preset.ts";
import { eventActor } from "../event-fields.ts";
import { labeled, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import type { EventActor, PresetContext, PresetEvent, PresetSample } from "../preset.ts";
import { asJson } from "../message/data-lines.ts";
import { shortSha } from "../message/list-lines.ts";
import { capitalized, headline, lineAt, phrase, spoken, titled } from "../message/headline.ts";

const deployment = {
  id: "dpl_7NdBk2x0000000000000000001",
  name: "app",
  url: "app-a1b2c3-acme.vercel.example.com",
  meta: {
    githubCommitRef: "main",
    githubCommitSha: "9c1185a5c5e9fc54612808977ee8f548b2258d31",
    githubCommitMessage: "Fix login",
    githubCommitAuthorLogin: "octo",
  },
};

function sample(type: string, id: string, payload: object): PresetSample {
  return {
    payload: {
      id,
      type,
      createdAt: 1_795_176_000_000,
      region: "fra1",
      payload: { team: { id: "team_0a1b2c" }, user: { id: "usr_3d4e5f" }, project: { id: "prj_6a7b8c" }, ...payload },
    },
  };
}

const links = {
  deployment: "https://vercel.example.com/acme/app/7NdBk2x0000000000000000001",
  project: "https://vercel.example.com/acme/app",
};

/** Account webhooks and integration webhooks of Vercel. Log drains are signed otherwise and not meant. */
export const vercel = definePreset({
  name: "vercel",
  title: "Vercel",
  documentation: "https://vercel.com/docs/webhooks",
  auth: { from: "header:x-vercel-signature", algorithm: "hmac-sha1" },
  secret: { label: "Webhook secret", madeBy: "sender", minLength: 16 },
  event: "body:type",
  deliveryId: { from: "body:id", signed: true },
  sender: senderOf,
  vouchesForActors: true,
  message: (event) => messageOf(...linesOf(event)),
  mapping: { name: "Vercel", links: ["vercel.com"] },
  success: { statuses: "2xx", otherwise: "tries again for up to 24 hours" },
  ignored: "nothing. Vercel marks no bots",
  samples: {
    "deployment.error": sample("deployment.error", "evt_0000000000000000000001", {
      deployment,
      links,
      target: "production",
    }),
    "deployment.succeeded": sample("deployment.succeeded", "evt_0000000000000000000002", {
      deployment,
      links,
      target: null,
    }),
    "project.created": sample("project.created", "evt_0000000000000000000003", {
      project: { id: "prj_6a7b8c", name: "app" },
    }),
  },
  setup: [
    "Open the team's Settings, then Webhooks.",
    "Choose the events (deployment.error and deployment.succeeded, for example) and the projects.",
    "Endpoint: {url}",
    "Choose Create Webhook, copy the {secret}, which Vercel shows this once, and set it as hooks.vercel.secret.",
  ],
});

function senderOf({ payload }: PresetContext): EventActor | undefined {
  const id = lineAt(payload, "payload.user.id");
  const name = authorOf(payload) || id;
  return eventActor(name, id);
}

/** A key of `meta`, whose prefix is the name of the Git host. */
function metaOf(payload: unknown, key: string): string {
  return lineAt(payload, ...["github", "gitlab", "bitbucket"].map((host) => `payload.deployment.meta.${host}${key}`));
}

function authorOf(payload: unknown): string {
  return metaOf(payload, "CommitAuthorLogin") || metaOf(payload, "CommitAuthorName");
}

const OUTCOMES: ReadonlyMap<string, string> = new Map([
  ["deployment.created", "was started"],
  ["deployment.succeeded", "succeeded"],
  ["deployment.ready", "is ready"],
  ["deployment.error", "failed"],
  ["deployment.canceled", "was canceled"],
  ["deployment.promoted", "was promoted"],
  ["deployment.rollback", "was rolled back"],
  ["deployment.cleanup", "was cleaned up"],
]);

function linesOf({ event, payload }: PresetEvent): readonly string[] {
  const name = lineAt(
    payload,
    "payload.deployment.name",
    "payload.name",
    "payload.project.name",
    "payload.domain.name",
  );
  const outcome = OUTCOMES.get(event ?? "");
  if (outcome === undefined) return anyEvent(event, payload, name);
  const target = lineAt(payload, "payload.target") || "preview";
  const site = textAt(payload, "payload.deployment.url", "payload.url");
  const link = textAt(payload, "payload.links.deployment", "payload.deployment.inspectorUrl");
  const message = metaOf(payload, "CommitMessage");
  const sha = shortSha(metaOf(payload, "CommitSha"));
  return [
    headline("Deployment", phrase("of", name), phrase("to", target), outcome),
    labeled("Author", authorOf(payload)),
    labeled("Branch", metaOf(payload, "CommitRef")),
    labeled("Commit", headline(sha, message)),
    labeled("Site", site && (/^https?:\/\//.test(site) ? site : `https://${site}`)),
    link,
  ];
}

function anyEvent(event: string | undefined, payload: unknown, name: string): readonly string[] {
  const link = textAt(payload, "payload.links.project", "payload.links.deployment");
  return [
    titled(capitalized(headline(spoken(event ?? "") || "Vercel event", phrase("by", authorOf(payload)))), name),
    link,
    name === "" ? asJson(valueAt(payload, "payload") ?? payload) : "",
  ];
}
