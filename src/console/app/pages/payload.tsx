import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { errorText, fetchText } from "../client.ts";
import { MAX_SHOWN_CHARS, Problem, Text } from "../parts.tsx";
import { formatJson } from "./format-json.ts";

/** A larger payload is only downloaded. */
const MAX_READ_BYTES = 1_048_576;

/** The body of the request: formatted where it is JSON, as it was received, and as a download. */
export function PayloadView({ path, bytes }: { readonly path: string; readonly bytes: number }): JSX.Element {
  const text = useSignal<string | undefined>(undefined);
  const problem = useSignal<string | undefined>(undefined);
  const isRaw = useSignal(false);
  const isReadable = bytes > 0 && bytes <= MAX_READ_BYTES;
  useEffect(() => {
    if (!isReadable) return;
    fetchText(`${path}/body`).then(
      (read) => (text.value = read),
      (error: unknown) => (problem.value = errorText(error)),
    );
  }, [path, bytes]);
  if (bytes === 0) return <p>No payload is stored: it had none, repeats another delivery, or retention removed it.</p>;
  return (
    <>
      <div class="bar">
        <span>Payload, {bytes.toLocaleString()} bytes</span>
        <label class="row">
          <input type="checkbox" checked={isRaw.value} onChange={() => (isRaw.value = !isRaw.value)} />
          As received
        </label>
        <a href={`api/${path}/body`} download>
          Download
        </a>
      </div>
      <Problem text={problem.value} />
      {!isReadable && <p>It is too large to be shown here.</p>}
      {text.value !== undefined && (
        <Text label="Payload" text={isRaw.value ? text.value : formatJson(text.value, MAX_SHOWN_CHARS)} />
      )}
    </>
  );
}
