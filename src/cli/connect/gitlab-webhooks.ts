/**
 * Webhooks of projects and groups of GitLab.
 *
 * Source: https://docs.gitlab.com/api/project_webhooks/, https://docs.gitlab.com/api/group_webhooks/.
 */
import { listAt, textAt, valueAt } from "../../core/payload-text.ts";
import { CliError } from "../errors.ts";
import { MAX_PAGES, PAGE_SIZE, type HookPlace, type Registered, type Registrar, type Wish } from "./registrar.ts";
import { SenderApiError } from "../../hosts/embedded/errors.ts";
import type { SenderApi } from "../../hosts/embedded/subscriptions/sender-api.ts";

/** What people do, and no machine. */
const EVENTS = ["issues", "merge_requests", "note"];
/** Without `_events`, as GitLab has them. */
const KNOWN = [
  "push",
  "tag_push",
  "issues",
  "confidential_issues",
  "merge_requests",
  "note",
  "confidential_note",
  "job",
  "pipeline",
  "wiki_page",
  "deployment",
  "releases",
  "feature_flag",
  "milestone",
  "emoji",
];

export const gitlabWebhooks: Registrar = {
  preset: "gitlab",
  title: "GitLab",
  api: "https://gitlab.com/api/v4",
  tokenKind: "one with the scope api, of a maintainer of the project or an owner of the group",
  places: ["project", "group"],
  headersOf: (token) => ({ "private-token": token }),
  register,
  async remove(api, { place, id }) {
    const act = `delete the webhook ${id} of ${place!.name}`;
    try {
      await api.call({ method: "DELETE", path: `${pathOf(place)}/${id}`, act });
      return true;
    } catch (error) {
      if (error instanceof SenderApiError && error.status === 404) return false;
      throw error;
    }
  },
};

async function register(api: SenderApi, { url, secret, events, place, before }: Wish): Promise<Registered> {
  const unknown = events?.find((event) => !KNOWN.includes(event));
  if (unknown !== undefined) {
    throw new CliError(`GitLab has no event "${unknown}". It has: ${KNOWN.join(", ")}.`);
  }
  const path = pathOf(place);
  const known = await findHook(api, place, { url, id: before?.id });
  const chosen = events ?? (known === undefined ? EVENTS : undefined);
  const flags = chosen && Object.fromEntries(KNOWN.map((event) => [`${event}_events`, chosen.includes(event)]));
  const body = { url, token: secret, enable_ssl_verification: true, ...flags };
  const { body: hook } =
    known === undefined
      ? await api.call({ method: "POST", path, body, act: `make a webhook of ${place!.name}` })
      : await api.call({
          method: "PUT",
          path: `${path}/${known}`,
          body,
          act: `update the webhook ${known} of ${place!.name}`,
        });
  const id = textAt(hook, "id");
  if (!/^\d{1,20}$/u.test(id))
    throw new CliError("GitLab answered without the id of the webhook: look at its settings.");
  return {
    id,
    name: `webhook ${id} of ${place!.name}`,
    isNew: known === undefined,
    events: KNOWN.filter((event) => valueAt(hook, `${event}_events`) === true),
  };
}

async function findHook(
  api: SenderApi,
  place: HookPlace | null,
  { url, id: known }: { readonly url: string; readonly id: string | undefined },
): Promise<string | undefined> {
  for (let page = 1; page <= MAX_PAGES; page++) {
    const { body } = await api.call({
      method: "GET",
      path: `${pathOf(place)}?per_page=${PAGE_SIZE}&page=${page}`,
      act: `list the webhooks of ${place!.name}`,
    });
    const hooks = listAt(body, "");
    const id = textAt(
      hooks.find((hook) => textAt(hook, "url") === url || textAt(hook, "id") === known),
      "id",
    );
    if (/^\d{1,20}$/u.test(id)) return id;
    if (hooks.length < PAGE_SIZE) return undefined;
  }
  return undefined;
}

/** A path with slashes is one segment. */
function pathOf(place: HookPlace | null): string {
  return `/${place!.kind === "project" ? "projects" : "groups"}/${encodeURIComponent(place!.name)}/hooks`;
}
