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
