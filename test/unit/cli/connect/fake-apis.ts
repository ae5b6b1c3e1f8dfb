import { type FakeAnswer, FakeSender, type SeenCall } from "./fake-sender.ts";

interface Hook {
  readonly id: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export const GITHUB_TOKEN = "ghp_token0of0these0tests";
export const GITLAB_TOKEN = "glpat-token-of-these-tests";
export const STRIPE_KEY = "sk_test_key0of0these0tests";
export const TELEGRAM_TOKEN = "700100:AAtoken_of_these_tests-0123456";
export const STRIPE_SECRET = "whsec_made0by0the0fake0of0these0tests";

const refusal = (status: number, message: string): FakeAnswer => ({ status, body: { message } });

/** Webhooks of a repository, as https://docs.github.com/en/rest/repos/webhooks describes them. */
export function fakeGithub(hooks: Map<number, Hook["body"]>, path = "/repos/acme/web/hooks"): FakeSender {
  return new FakeSender((call) => {
    const { method, headers, query, body } = call;
    if (headers.authorization !== `Bearer ${GITHUB_TOKEN}`) return refusal(401, "Bad credentials");
    if (headers["user-agent"] === undefined) return refusal(403, "Request forbidden by administrative rules.");
    if (headers.accept !== "application/vnd.github+json") return refusal(415, "Unsupported media type");
    if (headers["x-github-api-version"] !== "2022-11-28") return refusal(400, "Unsupported version");
    const [, id] = /^\/(\d+)$/u.exec(call.path.slice(path.length)) ?? [];
    if (!call.path.startsWith(path) || (call.path !== path && id === undefined)) return refusal(404, "Not Found");
    if (method === "GET") {
      const from = (Number(query.get("page")) - 1) * Number(query.get("per_page"));
      const listed = [...hooks].map(([each, hook]) => ({ ...hook, id: each }));
      return { status: 200, body: listed.slice(from, from + Number(query.get("per_page"))) };
    }
    if (method === "POST") {
      const written = JSON.parse(body) as Hook["body"];
      const { url, content_type: type } = written["config"] as { url?: string; content_type?: string };
      if (written["name"] !== "web" || url === undefined || type !== "json") return refusal(422, "Validation Failed");
      hooks.set(7, written);
      return { status: 201, body: { ...written, id: 7, type: "Repository" } };
    }
    const known = hooks.get(Number(id));
    if (known === undefined) return refusal(404, "Not Found");
    if (method === "DELETE") {
      hooks.delete(Number(id));
      return { status: 204 };
    }
    if (method !== "PATCH") return refusal(404, "Not Found");
    hooks.set(Number(id), { ...known, ...(JSON.parse(body) as object) });
    return { status: 200, body: { ...hooks.get(Number(id)), id: Number(id) } };
  });
}

/** Webhooks of a project, as https://docs.gitlab.com/api/project_webhooks/ describes them. */
export function fakeGitlab(hooks: Map<number, Hook["body"]>): FakeSender {
  const path = "/projects/acme%2Fweb/hooks";
  return new FakeSender((call) => {
    if (call.headers["private-token"] !== GITLAB_TOKEN) return refusal(401, "401 Unauthorized");
    const [, id] = /^\/(\d+)$/u.exec(call.path.slice(path.length)) ?? [];
    if (!call.path.startsWith(path)) return refusal(404, "404 Project Not Found");
    if (call.method === "GET") {
      return { status: 200, body: [...hooks].map(([each, hook]) => ({ ...hook, token: undefined, id: each })) };
    }
    if (call.method === "DELETE") {
      return hooks.delete(Number(id)) ? { status: 204 } : refusal(404, "404 Not found");
    }
    const written = JSON.parse(call.body) as Hook["body"];
    if (typeof written["url"] !== "string") return { status: 400, body: { error: "url is missing" } };
    const at = call.method === "POST" ? 11 : Number(id);
    hooks.set(at, { push_events: true, ...hooks.get(at), ...written });
    return { status: call.method === "POST" ? 201 : 200, body: { ...hooks.get(at), token: undefined, id: at } };
  });
}

/** Endpoints, as https://docs.stripe.com/api/webhook_endpoints describes them; the rest is answered by `more`. */
export function fakeStripe(
  endpoints: Map<string, { url: string; events: readonly string[] }>,
  more?: (call: SeenCall) => FakeAnswer,
): FakeSender {
  const PATH = "/v1/webhook_endpoints";
  const refuse = (status: number, message: string): FakeAnswer => ({ status, body: { error: { message } } });
  const shown = (id: string) => {
    const { url, events } = endpoints.get(id)!;
    return { id, object: "webhook_endpoint", url, enabled_events: events, status: "enabled" };
  };
  return new FakeSender((call) => {
    const { method, path, headers, query, body } = call;
    if (headers.authorization !== `Bearer ${STRIPE_KEY}`) return refuse(401, "Invalid API Key provided: sk_***");
    if (!path.startsWith(PATH)) return more?.(call) ?? refuse(404, "Unrecognized request URL");
    const id = path.slice(PATH.length + 1);
    if (id !== "" && !endpoints.has(id)) return refuse(404, `No such webhook endpoint: '${id}'`);
    if (method === "GET") {
      const ids = [...endpoints.keys()];
      const from = ids.indexOf(query.get("starting_after") ?? "") + 1;
      const page = ids.slice(from, from + Number(query.get("limit")));
      return {
        status: 200,
        body: { object: "list", data: page.map(shown), has_more: from + page.length < ids.length },
      };
    }
    if (method === "DELETE") {
      endpoints.delete(id);
      return { status: 200, body: { id, object: "webhook_endpoint", deleted: true } };
    }
    if (headers["content-type"]?.startsWith("application/x-www-form-urlencoded") !== true)
      return refuse(400, "no form");
    const form = new URLSearchParams(body);
    const events = form.getAll("enabled_events[]");
    if (id !== "") {
      const { url, events: before } = endpoints.get(id)!;
      endpoints.set(id, { url: form.get("url") ?? url, events: events.length === 0 ? before : events });
      return { status: 200, body: shown(id) };
    }
    if (events.length === 0) return refuse(400, "Missing required param: enabled_events.");
    const made = `we_1Made${endpoints.size}`;
    endpoints.set(made, { url: form.get("url") ?? "", events });
    return { status: 200, body: { ...shown(made), secret: STRIPE_SECRET } };
  });
}

/** The webhook of a bot, as https://core.telegram.org/bots/api#setwebhook describes it. */
export function fakeTelegram(bot: { url: string; secret?: string }): FakeSender {
  return new FakeSender(({ method, path, body }) => {
    const [, token, name] = /^\/bot([^/]+)\/(\w+)$/u.exec(path) ?? [];
    if (token !== TELEGRAM_TOKEN)
      return { status: 401, body: { ok: false, error_code: 401, description: "Unauthorized" } };
    if (method !== "POST") return { status: 404, body: { ok: false, error_code: 404, description: "Not Found" } };
    const { url = "", secret_token: secret } = JSON.parse(body) as { url?: string; secret_token?: string };
    if (name === "getWebhookInfo") {
      return { status: 200, body: { ok: true, result: { url: bot.url, pending_update_count: 0 } } };
    }
    if (name === "setWebhook" && !url.startsWith("https://")) {
      const description = "Bad Request: bad webhook: An HTTPS URL must be provided for webhook";
      return { status: 400, body: { ok: false, error_code: 400, description } };
    }
    if (name === "setWebhook") Object.assign(bot, { url, secret });
    else if (name === "deleteWebhook") bot.url = "";
    else return { status: 404, body: { ok: false, error_code: 404, description: "Not Found" } };
    return { status: 200, body: { ok: true, result: true, description: "Webhook was set" } };
  });
}
