import type { PresetSettings } from "../../config/preset-part.ts";
import { splitPlaceholders } from "../placeholders.ts";
import type { TextPart } from "../placeholders.ts";
import { compileSource } from "../value-source.ts";
import { checkSource } from "./handshake-source.ts";
import type { HandshakeRequest, ReadText } from "./handshake-request.ts";
import { settingValues } from "./setting-values.ts";

/** What the placeholders of a text stand for. */
export interface TextScope {
  readonly settings: PresetSettings;
  readonly publicUrl: string | undefined;
  readonly computed: ReadonlyMap<string, ReadText>;
  /** Whether a value of the request may stand in the text. */
  readonly takes: (value: string) => boolean;
}

/** Compiles a text with placeholders; throws a TypeError for one that is not known. */
export function compileText(text: string, scope: TextScope): ReadText {
  const readers = splitPlaceholders(text).map((part) => compilePart(part, scope));
  return (request) => {
    let written = "";
    for (const read of readers) {
      const value = read(request);
      if (value === undefined) return undefined;
      written += value;
    }
    return written;
  };
}

function compilePart(part: TextPart, scope: TextScope): ReadText {
  if (typeof part === "string") return () => part;
  const { name, argument } = part;
  const placeholder = `{${name}${argument === "" ? "" : `:${argument}`}}`;
  switch (name) {
    case "header":
    case "query":
    case "body": {
      const source = `${name}:${argument}`;
      checkSource(source);
      const read = compileSource(source);
      return limited(({ view }) => read(view), scope);
    }
    case "url": {
      const { publicUrl } = scope;
      return publicUrl === undefined ? () => undefined : limited(({ call }) => publicUrl + pathOf(call.target), scope);
    }
    case "setting": {
      if (argument === "") throw new TypeError(`${placeholder} names no setting`);
      const [value] = settingValues(scope.settings, argument);
      return () => value;
    }
    case "computed": {
      const read = scope.computed.get(argument);
      if (read === undefined) throw new TypeError(`${placeholder} is not among what is computed`);
      return read;
    }
    default:
      throw new TypeError(`${placeholder} is not known`);
  }
}

function limited(read: (request: HandshakeRequest) => string | undefined, { takes }: TextScope): ReadText {
  return (request) => {
    const value = read(request);
    return value !== undefined && takes(value) ? value : undefined;
  };
}

function pathOf(target: string): string {
  const mark = target.indexOf("?");
  return mark === -1 ? target : target.slice(0, mark);
}
