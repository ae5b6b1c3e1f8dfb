/** Which endpoint and model a reference means, by the configuration of the moment. */
import type { GatewayConfig, ProviderConfig } from "../config/file.ts";

/** The fetch that model endpoints are asked with. */

/** The endpoint sent more than it may; the reply that was being read is worthless. */
export class ResponseTooLargeError extends Error {
  override readonly name = "ResponseTooLargeError";

  constructor(maxBytes: number) {
    super(`the response is larger than ${maxBytes} bytes`);
  }
}

/** How much of an error's body is read; what is shown of it is far shorter. */
const MAX_ERROR_BODY_BYTES = 16_384;

/**
 * Makes a fetch that follows no redirect (it would carry the prompt, and perhaps the key, to an
 * address that nobody configured) and reads at most `maxBytes` of a body: a longer success fails
 * with {@link ResponseTooLargeError}, a longer error is cut.
 */
export function cappedFetch(maxBytes: number): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, { ...init, redirect: "manual" });
    if (response.body === null) {
      return response;
    }
    const limit = response.ok ? failAfter(maxBytes) : cutAfter(MAX_ERROR_BODY_BYTES);
    return new Response(response.body.pipeThrough(limit), {
      status: response.status,
      statusText: response.statusText,
      headers: response.headers,
    });
  };
}

function failAfter(maxBytes: number): TransformStream<Uint8Array, Uint8Array> {
  let left = maxBytes;
  return new TransformStream({
    transform(chunk, controller) {
      left -= chunk.byteLength;
      if (left < 0) {
        controller.error(new ResponseTooLargeError(maxBytes));
        return;
      }
      controller.enqueue(chunk);
    },
  });
}

function cutAfter(maxBytes: number): TransformStream<Uint8Array, Uint8Array> {
  let left = maxBytes;
  return new TransformStream({
    transform(chunk, controller) {
      controller.enqueue(chunk.subarray(0, left));
      left -= chunk.byteLength;
      if (left <= 0) {
        controller.terminate();
      }
    },
  });
}

/** A model that can be asked. */
export interface ResolvedModel {
  readonly providerId: string;
  readonly provider: ProviderConfig;
  /** The provider's own name for the model; may itself hold slashes. */
  readonly modelId: string;
}

/** Why a reference means no model, in words for the gateway's owner. */
export interface UnusableModel {
  readonly problem: string;
}

/**
 * Resolves `<provider>/<model>`, or an alias of `agents.defaults.models`, to a configured endpoint.
 * An alias wins over a reference that is spelled the same.
 */
export function resolveModel(config: GatewayConfig, reference: string): ResolvedModel | UnusableModel {
  const ref = config.agents.allowedModels?.find((model) => model.alias === reference)?.ref ?? reference;
  const slash = ref.indexOf("/");
  const modelId = ref.slice(slash + 1);
  if (slash < 1 || modelId === "") {
    return {
      problem: `Model ${quoteReference(reference)} is neither an alias of agents.defaults.models nor written <provider>/<model>.`,
    };
  }
  const providerId = ref.slice(0, slash);
  const provider = config.models.providers.get(providerId);
  if (provider === undefined) {
    return {
      problem: `Model ${quoteReference(ref)} names the provider ${quoteReference(providerId)}, which models.providers does not define.`,
    };
  }
  return { providerId, provider, modelId };
}

/** A reference may come from a caller: shortened, and quoted so that it stays on one line. */
export function quoteReference(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}
