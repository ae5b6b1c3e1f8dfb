import { answerJson, type Answer } from "../http/answer.ts";
import { WaitRefused, type WaitRequest, WaitRequestSchema, type WaitTrial, WaitTrialSchema } from "../index.ts";
import { decodeSegment, type ApiCall, type ApiEndpoints, type ApiSources } from "./endpoint.ts";
import { ApiQueryError, compileBodyReader, readApiQuery } from "./request.ts";
import { readFilter } from "./selection.ts";

const readWaitRequest = compileBodyReader<WaitRequest>(WaitRequestSchema);
const readWaitTrial = compileBodyReader<WaitTrial>(WaitTrialSchema);

/** `/api/v1/waits`: sessions that wait for events. */
export class WaitsApi {
  readonly #sources: Pick<ApiSources, "operations" | "clock">;

  constructor(sources: Pick<ApiSources, "operations" | "clock">) {
    this.#sources = sources;
  }

  endpoints(): ApiEndpoints {
    return {
      waits: { GET: (call) => this.#list(call), POST: (call) => this.#add(call) },
      "waits/backtest": { POST: (call) => this.#backtest(call) },
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

  async #backtest({ req, search }: ApiCall): Promise<Answer> {
    readApiQuery(search, []);
    return answerJson(200, await this.backtest(await readWaitTrial(req)));
  }

  /** Rejects with an {@link ApiQueryError}. */
  add(request: WaitRequest): Promise<object> {
    return forCaller(() => this.#sources.operations().waits.add(request));
  }

  /** Rejects with an {@link ApiQueryError}. */
  backtest(trial: WaitTrial): Promise<object> {
    const { since = "7d", until } = trial;
    const period = readFilter({ since, ...(until !== undefined && { until }) }, this.#sources.clock.now());
    return forCaller(() => this.#sources.operations().waits.backtest(trial, period));
  }
}

async function forCaller<Result>(act: () => Promise<Result>): Promise<Result> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof WaitRefused) throw new ApiQueryError(error.message);
    throw error;
  }
}
