import Type from "typebox";
import { configLines, ConfigError } from "../config/errors.ts";
import { type Answer, answerJson } from "../http/answer.ts";
import { type ConfigEdit, readEdit } from "../config/mapping/edit.ts";
import { type ApiCall, type ApiEndpoints, type ApiReply, type ApiSources, decodeSegment } from "./endpoint.ts";
import { ApiQueryError, compileBodyReader, readApiQuery } from "./request.ts";
import { editSchema, MAX_PREVIEW_BYTES, readBacktestRequest } from "./selection.ts";

const readSample = compileBodyReader<{
  readonly path: string;
  readonly payload: string;
  readonly contentType?: string;
  readonly delivery?: string;
  readonly edit?: string;
}>(
  Type.Object(
    {
      path: Type.String({ minLength: 1, maxLength: 1_000 }),
      payload: Type.String(),
      contentType: Type.Optional(Type.String({ maxLength: 200 })),
      delivery: Type.Optional(Type.String({ maxLength: 100 })),
      edit: Type.Optional(editSchema),
    },
    { additionalProperties: false },
  ),
  { maxBytes: MAX_PREVIEW_BYTES },
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

  async #sample({ req, search }: ApiCall): Promise<ApiReply> {
    readApiQuery(search, []);
    const { path, payload, contentType, delivery: like, edit } = await readSample(req);
    const call = { path, contentType, like, body: new TextEncoder().encode(payload) };
    const preview = await byEdit(edit, (read) => this.#sources.operations().previews.sample(call, read));
    return preview && answerJson(200, preview);
  }

  async #delivery({ key, search }: ApiCall): Promise<ApiReply> {
    readApiQuery(search, []);
    const preview = await this.#sources.operations().previews.delivery(decodeSegment(key));
    return preview && answerJson(200, preview);
  }

  async #backtest({ req, search }: ApiCall): Promise<Answer> {
    readApiQuery(search, []);
    const { filter, page, edit } = await readBacktestRequest(req, this.#sources.clock.now());
    const { previews } = this.#sources.operations();
    return answerJson(200, await byEdit(edit, (read) => previews.backtest(filter, page, read)));
  }
}

/** Rejects with an {@link ApiQueryError} that has every issue of an edited configuration that is refused. */
async function byEdit<Result>(
  edit: string | undefined,
  judge: (edit: ConfigEdit | undefined) => Promise<Result>,
): Promise<Result> {
  try {
    return await judge(edit === undefined ? undefined : readEdit(edit));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ApiQueryError(`The edited configuration is refused. ${configLines(error.issues).join("\n")}`);
  }
}
