import { answerJson } from "../../../http/answer.ts";
import type { ApiCall, ApiEndpoints, ApiReply } from "../../../api/endpoint.ts";
import { decodeSegment } from "../../../api/paths.ts";
import { readApiQuery, readPage } from "../../../api/query.ts";
import type { GatewaySources } from "./gateway-sources.ts";
import { OwnerRoute } from "./owner-route.ts";

/** `/api/v1/sessions` and `/api/v1/outbox`: what was said, what waits, and what channels were given. */
export class SessionsApi {
  readonly #sources: Pick<GatewaySources, "sessions" | "channels">;
  readonly #ownerRoute: OwnerRoute;

  constructor(sources: Pick<GatewaySources, "sessions" | "channels">) {
    this.#sources = sources;
    this.#ownerRoute = new OwnerRoute(sources);
  }

  endpoints(): ApiEndpoints {
    const { sessions, channels } = this.#sources;
    return {
      sessions: { GET: ({ search }) => answerJson(200, sessions.list(pageOf(search))) },
      "sessions/*/messages": {
        GET: (call) => answerJson(200, sessions.messages(this.#sessionKey(call), pageOf(call.search))),
      },
      "sessions/*/events": {
        GET: (call) => answerJson(200, sessions.pendingEvents(this.#sessionKey(call), pageOf(call.search))),
      },
      "sessions/*/route": {
        GET: ({ key }) => answerFound(this.#ownerRoute.get(key)),
        PUT: async ({ req, key }) => answerFound(await this.#ownerRoute.set(req, key)),
      },
      outbox: { GET: ({ search }) => answerJson(200, channels.outbox(pageOf(search))) },
    };
  }

  #sessionKey({ key }: ApiCall): string {
    return this.#sources.sessions.fullKey(decodeSegment(key));
  }
}

function pageOf(search: string): ReturnType<typeof readPage> {
  return readPage(readApiQuery(search, ["limit", "cursor"]));
}

function answerFound(body: object | undefined): ApiReply {
  return body && answerJson(200, body);
}
