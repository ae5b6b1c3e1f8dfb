import { answerJson, type Answer } from "../http/answer.ts";
import { type WaitRequest, WaitRefused, WaitRequestSchema } from "../index.ts";
import { decodeSegment, type ApiCall, type ApiEndpoints, type ApiSources } from "./endpoint.ts";
import { ApiQueryError, compileBodyReader, readApiQuery } from "./request.ts";

const readWaitRequest = compileBodyReader<WaitRequest>(WaitRequestSchema);

/** `/api/v1/waits`: sessions that wait for events. */
export class WaitsApi {
  readonly #sources: Pick<ApiSources, "operations">;

  constructor(sources: Pick<ApiSources, "operations">) {
    this.#sources = sources;
  }

  endpoints(): ApiEndpoints {
    return {
      waits: { GET: (call) => this.#list(call), POST: (call) => this.#add(call) },
      "waits/*": { GET: (call) => this.#show(call), DELETE: (call) => this.#cancel(call) },
    };
  }

  async #list({ search }: ApiCall): Promise<Answer> {
    readApiQuery(search, []);
    return answerJson(200, { waits: await this.#sources.operations().waits.list() });
  }

  async #add({ req, search }: ApiCall): Promise<Answer> {
    readApiQuery(search, []);
    return answerJson(201, await this.add(await readWaitRequest(req)));
  }

  async #show({ key, search }: ApiCall): Promise<Answer | undefined> {
    readApiQuery(search, []);
    const wait = await this.#sources.operations().waits.get(decodeSegment(key));
    return wait && answerJson(200, wait);
  }

  async #cancel({ key, search }: ApiCall): Promise<Answer | undefined> {
    readApiQuery(search, []);
    const id = decodeSegment(key);
    return (await this.#sources.operations().waits.cancel(id)) ? answerJson(200, { ok: true, id }) : undefined;
  }

  /** Rejects with an {@link ApiQueryError}. */
  async add(request: WaitRequest): Promise<object> {
    try {
      return await this.#sources.operations().waits.add(request);
    } catch (error) {
      if (error instanceof WaitRefused) throw new ApiQueryError(error.message);
      throw error;
    }
  }
}
