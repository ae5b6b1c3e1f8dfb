import Type from "typebox";
import { type Answer, answerJson } from "../http/answer.ts";
import { type ApiCall, type ApiEndpoints, type ApiReply, type ApiSources, decodeSegment } from "./endpoint.ts";
import { compileBodyReader, readApiQuery } from "./request.ts";
import { readBacktestRequest } from "./selection.ts";

const readSample = compileBodyReader<{
  readonly path: string;
  readonly payload: string;
  readonly contentType?: string;
}>(
  Type.Object(
    {
      path: Type.String({ minLength: 1, maxLength: 1_000 }),
      payload: Type.String(),
      contentType: Type.Optional(Type.String({ maxLength: 200 })),
    },
    { additionalProperties: false },
  ),
);

/** The results of the active configuration for a call, a stored delivery and many of them: nothing is stored or sent. */
export class PreviewsApi {
  readonly #sources: Pick<ApiSources, "operations" | "clock">;

  constructor(sources: Pick<ApiSources, "operations" | "clock">) {
    this.#sources = sources;
  }

  endpoints(): ApiEndpoints {
    return {
      "deliveries/preview": { POST: (call) => this.#sample(call) },
      "deliveries/*/preview": { GET: (call) => this.#delivery(call) },
      "deliveries/backtest": { POST: (call) => this.#backtest(call) },
    };
  }

  async #sample({ req, search }: ApiCall): Promise<Answer> {
    readApiQuery(search, []);
    const { path, payload, contentType = "application/json" } = await readSample(req);
    const call = { path, contentType, body: new TextEncoder().encode(payload) };
    return answerJson(200, await this.#sources.operations().previews.sample(call));
  }

  async #delivery({ key, search }: ApiCall): Promise<ApiReply> {
    readApiQuery(search, []);
    const preview = await this.#sources.operations().previews.delivery(decodeSegment(key));
    return preview && answerJson(200, preview);
  }

  async #backtest({ req, search }: ApiCall): Promise<Answer> {
    readApiQuery(search, []);
    const { filter, page } = await readBacktestRequest(req, this.#sources.clock.now());
    return answerJson(200, await this.#sources.operations().previews.backtest(filter, page));
  }
}
