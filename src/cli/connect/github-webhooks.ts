/**
 * Webhooks of repositories and organizations of GitHub.
 *
 * Source: https://docs.github.com/en/rest/repos/webhooks, https://docs.github.com/en/rest/orgs/webhooks.
 */
import { listAt, textAt } from "../../core/payload-text.ts";
import { CliError } from "../errors.ts";
import { MAX_PAGES, PAGE_SIZE, type HookPlace, type Registered, type Registrar, type Wish } from "./registrar.ts";
import { SenderApiError } from "../../hosts/embedded/errors.ts";
import type { SenderApi } from "../../hosts/embedded/subscriptions/sender-api.ts";

/** What people do, and no machine. */
const EVENTS = ["issues", "issue_comment", "pull_request", "pull_request_review", "pull_request_review_comment"];

export const githubWebhooks: Registrar = {
  preset: "github",
  title: "GitHub",
  api: "https://api.github.com",
  tokenKind: "one that may administer webhooks: admin:repo_hook or admin:org_hook, or the permission Webhooks, write",
  places: ["repo", "org"],
  headersOf: (token) => ({
    authorization: `Bearer ${token}`,
    accept: "application/vnd.github+json",
    "x-github-api-version": "2022-11-28",
  }),
  register,
  async remove(api, { place, id }) {
    const act = `delete the webhook ${id} of ${place!.name}`;
    try {
      await api.call({ method: "DELETE", path: `${githubHooksPath(place)}/${id}`, act });
      return true;
    } catch (error) {
      if (error instanceof SenderApiError && error.status === 404) return false;
      throw error;
    }
  },
};

async function register(api: SenderApi, { url, secret, events, place, before }: Wish): Promise<Registered> {
  const path = githubHooksPath(place);
  const config = { url, content_type: "json", insecure_ssl: "0", secret };
  const known = await findGithubHook(api, place, { url, id: before?.id });
  const body = { active: true, config, ...(events === undefined ? {} : { events }) };
  const { body: hook } =
    known === undefined
      ? await api.call({
          method: "POST",
          path,
          body: { name: "web", events: EVENTS, ...body },
          act: `make a webhook of ${place!.name}`,
        })
      : await api.call({
          method: "PATCH",
          path: `${path}/${known}`,
          body,
          act: `update the webhook ${known} of ${place!.name}`,
        });
  const id = textAt(hook, "id");
  if (!/^\d{1,20}$/u.test(id))
    throw new CliError("GitHub answered without the id of the webhook: look at its settings.");
  return {
    id,
    name: `webhook ${id} of ${place!.name}`,
    isNew: known === undefined,
    events: listAt(hook, "events").filter((each) => typeof each === "string"),
  };
}

/** The id of the webhook that calls a URL, or has that id. */
export async function findGithubHook(
  api: SenderApi,
  place: HookPlace | null,
  { url, id: known }: { readonly url: string; readonly id?: string | undefined },
): Promise<string | undefined> {
  for (let page = 1; page <= MAX_PAGES; page++) {
    const { body } = await api.call({
      method: "GET",
      path: `${githubHooksPath(place)}?per_page=${PAGE_SIZE}&page=${page}`,
      act: `list the webhooks of ${place!.name}`,
    });
    const hooks = listAt(body, "");
    const found = hooks.find((hook) => textAt(hook, "config.url") === url || textAt(hook, "id") === known);
    const id = textAt(found, "id");
    if (/^\d{1,20}$/u.test(id)) return id;
    if (hooks.length < PAGE_SIZE) return undefined;
  }
  return undefined;
}

export function githubHooksPath(place: HookPlace | null): string {
  const name = place!.name.split("/").map(encodeURIComponent).join("/");
  return place!.kind === "repo" ? `/repos/${name}/hooks` : `/orgs/${name}/hooks`;
}
