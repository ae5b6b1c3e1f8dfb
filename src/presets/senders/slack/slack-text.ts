import { joinText } from "../../../core/payload-text.ts";
import { decodeEntities } from "../../message/value-text.ts";

const MARKUP = /<([^<>|]+)(?:\|([^<>]*))?>/gu;

/**
 * A text of Slack as people see it: `<https://example.com|the log>` is `the log (https://example.com)`,
 * `<@U1>` is `@U1`, `<#C1|ops>` is `#ops`, `<!here>` is `@here`; the three escaped characters are decoded.
 */
export function slackText(text: string): string {
  return decodeEntities(text.replaceAll(MARKUP, (_, target: string, label = "") => shown(target, label as string)));
}

function shown(target: string, label: string): string {
  const rest = target.slice(1);
  switch (target[0]) {
    case "@":
      return label === "" ? target : `@${label} (${rest})`;
    case "#":
      return `#${label || rest}`;
    case "!":
      // `<!date^1795176000^{date}|20 November>` and `<!subteam^S1|@ops>` say in the label what people see.
      return label || `@${rest.split("^").at(-1)}`;
    default:
      return label === "" || label === target ? target : joinText(" ", label, `(${target})`);
  }
}
