import type { WaitMaking } from "../config/respond.ts";
import { MAX_NOTE, MAX_VALUE, type WaitCondition } from "../config/wait-wish.ts";
import type { PayloadContext } from "../core/delivery.ts";
import { clip } from "../core/payload-text.ts";
import type { WaitMatch } from "../core/wait.ts";
import { compileTemplate } from "./template.ts";

/** `respond.wait` of a mapping, made ready at config load. */
export interface CompiledWait extends WaitMaking {
  /** What an event makes the session wait for; a text when that is nothing, and why. */
  readonly termsOf: (context: PayloadContext) => MappingWaitTerms | string;
}

export interface MappingWaitTerms {
  readonly condition: WaitCondition;
  readonly note: string;
}

type RenderMatch = (context: PayloadContext) => WaitMatch | string;

export function compileWait(making: WaitMaking): CompiledWait {
  const { condition, wish } = making;
  const note = compileTemplate(wish.note ?? "");
  const lists = (["all", "any", "none"] as const).map((list) => ({ list, render: condition[list].map(compileMatch) }));
  return {
    ...making,
    termsOf(context) {
      const rendered: Record<"all" | "any" | "none", WaitMatch[]> = { all: [], any: [], none: [] };
      for (const { list, render } of lists) {
        for (const each of render) {
          const match = each(context);
          if (typeof match === "string") return match;
          rendered[list].push(match);
        }
      }
      return {
        condition: { ...rendered, quietMs: condition.quietMs },
        note: clip(note.render(context).trim(), MAX_NOTE),
      };
    },
  };
}

/** A value that the payload lacks would be waited for in vain, or be that of another event. */
function compileMatch(match: WaitMatch): RenderMatch {
  const { correlation } = match;
  if (correlation === undefined) return () => match;
  const { path } = correlation;
  const value = compileTemplate(correlation.equals);
  return (context) => {
    const equals = value.render(context);
    if (equals === "") return `its payload has nothing for the value of ${path}`;
    if (equals.length > MAX_VALUE) return `the value of ${path} is longer than ${MAX_VALUE} characters`;
    return { ...match, correlation: { path, equals } };
  };
}
