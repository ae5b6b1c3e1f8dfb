import Type from "typebox";
import { answerJson } from "../http/answer.ts";
import type { Answer } from "../http/answer.ts";
import { UnknownScopeError } from "../index.ts";
import { answerError } from "./errors.ts";
import { compileBodyReader } from "./request.ts";
import type { ApiCall, ApiEndpoints } from "./endpoint.ts";
import { decodeSegment } from "./endpoint.ts";
import { readApiQuery } from "./request.ts";
import type { ApiSources } from "./endpoint.ts";

const readEmptyBody = compileBodyReader<object>(Type.Object({}, { additionalProperties: false }));

/** `/api/v1/hooks`: the mappings, and which of them are paused; `/api/v1/outages`: what is out of order. */
export class HooksApi {
  readonly #sources: Pick<ApiSources, "operations">;

  constructor(sources: Pick<ApiSources, "operations">) {
    this.#sources = sources;
  }

  endpoints(): ApiEndpoints {
    return {
      hooks: { GET: (call) => this.#list(call) },
      outages: { GET: (call) => this.#outages(call) },
      "hooks/*/probe": { POST: (call) => this.#probe(call) },
      "hooks/*/pause": { POST: (call) => this.#change("pause", call) },
      "hooks/*/resume": { POST: (call) => this.#change("resume", call) },
    };
  }

  async #list({ search }: ApiCall): Promise<Answer> {
    readApiQuery(search, []);
    return answerJson(200, await this.#sources.operations().hooks.list());
  }

  #outages({ search }: ApiCall): Answer {
    readApiQuery(search, []);
    return answerJson(200, { outages: this.#sources.operations().gauges.outages });
  }

  async #probe({ req, key, search }: ApiCall): Promise<Answer> {
    readApiQuery(search, []);
    const mapping = decodeSegment(key);
    await readEmptyBody(req);
    try {
      return answerJson(200, await this.#sources.operations().probes.probe(mapping));
    } catch (error) {
      if (error instanceof UnknownScopeError) return answerError("NOT_FOUND", { message: error.message });
      throw error;
    }
  }

  async #change(change: "pause" | "resume", { req, key, search }: ApiCall): Promise<Answer> {
    readApiQuery(search, []);
    const scope = decodeSegment(key);
    await readEmptyBody(req);
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
