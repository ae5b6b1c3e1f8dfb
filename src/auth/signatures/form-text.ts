import { readMediaType } from "../../http/media-type.ts";
import { parseForm } from "../../http/parse-form.ts";
import type { IncomingCall } from "../verifier.ts";

const MAX_FIELDS = 1_000;

/** Whether a call says that its body is a form. */
export function isForm({ headers }: IncomingCall): boolean {
  return readMediaType(headers["content-type"]).kind === "form";
}

/**
 * The fields of a form as Twilio signs them: name and value of each, sorted by name, the values of a
 * repeated name sorted and each of them once. Empty when the body is no form, `undefined` for one of more
 * than 1,000 fields: nobody has proved to be the sender yet, and sorting costs most of all.
 */
export function formText(call: IncomingCall): string | undefined {
  if (!isForm(call)) return "";
  const encoded = Buffer.from(call.body)
    .toString("utf8")
    .split("&", MAX_FIELDS + 1);
  if (encoded.length > MAX_FIELDS) return undefined;
  const fields = new Map<string, Set<string>>();
  for (const pair of encoded) {
    for (const [name, value] of Object.entries(parseForm(pair))) {
      const values = fields.get(name);
      if (values === undefined) fields.set(name, new Set([value]));
      else values.add(value);
    }
  }
  return [...fields.keys()]
    .toSorted(byCodeUnits)
    .flatMap((name) => [...fields.get(name)!].toSorted(byCodeUnits).map((value) => name + value))
    .join("");
}

function byCodeUnits(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
