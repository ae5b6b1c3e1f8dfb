import Type from "typebox";
import { answerJson } from "../http/respond.ts";
import type { Answer } from "../http/respond.ts";
import { UnknownScopeError } from "../index.ts";
import { answerError } from "./api-errors.ts";
import { compileBodyReader } from "./api-body.ts";
import type { ApiCall, ApiEndpoints } from "./api-endpoint.ts";
import { decodeSegment } from "./api-paths.ts";
import { readApiQuery } from "./api-query.ts";
import type { ApiSources } from "./api-sources.ts";

const readNothing = compileBodyReader<object>(Type.Object({}, { additionalProperties: false }));

/** `/api/v1/hooks`: the mappings, and which of them are paused. */
export class HooksApi {
  readonly #sources: Pick<ApiSources, "operations">;

  constructor(sources: Pick<ApiSources, "operations">) {
    this.#sources = sources;
  }

  endpoints(): ApiEndpoints {
    return {
      hooks: { GET: (call) => this.#list(call) },
      "hooks/*/pause": { POST: (call) => this.#change("pause", call) },
      "hooks/*/resume": { POST: (call) => this.#change("resume", call) },
    };
  }

  async #list({ search }: ApiCall): Promise<Answer> {
    readApiQuery(search, []);
    return answerJson(200, await this.#sources.operations().hooks.list());
  }

  async #change(change: "pause" | "resume", { req, key, search }: ApiCall): Promise<Answer> {
    readApiQuery(search, []);
    const scope = decodeSegment(key);
    await readNothing(req);
    const { hooks } = this.#sources.operations();
    try {
      const changed = await (change === "pause" ? hooks.pause(scope) : hooks.resume(scope));
      return answerJson(200, { ok: true, scope, paused: change === "pause", changed });
    } catch (error) {
      if (error instanceof UnknownScopeError) return answerError("NOT_FOUND", { message: error.message });
      throw error;
    }
  }
}
