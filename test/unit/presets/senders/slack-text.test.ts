import { describe, expect, it } from "vitest";
import { slackText } from "../../../../src/presets/senders/slack/slack-text.ts";

describe("the text of a Slack message", () => {
  it.each([
    ["see <https://example.com/log|the log>", "see the log (https://example.com/log)"],
    ["<https://example.com/?a=1&amp;b=2>", "https://example.com/?a=1&b=2"],
    ["<mailto:ada@example.com|ada@example.com>", "ada@example.com (mailto:ada@example.com)"],
    ["<@U012AB3CD> and <@W012A3CDE|ada>", "@U012AB3CD and @ada (W012A3CDE)"],
    ["in <#C024BE7LR|general>, <#C024BE7LR>", "in #general, #C024BE7LR"],
    ["<!here> <!subteam^SAZ94GDB8> <!subteam^S1|@ops>", "@here @SAZ94GDB8 @ops"],
    ["<!date^1392734382^Posted {date_num}|Posted 2014-02-18>", "Posted 2014-02-18"],
    ["1 &lt; 2 &amp;&amp; 3 &gt; 2", "1 < 2 && 3 > 2"],
    ["<> < x", "<> < x"],
  ])("%s", (text, shown) => {
    expect(slackText(text)).toBe(shown);
  });

  it("takes time in proportion to its length", () => {
    const hostile = "<".repeat(100_000) + "|".repeat(100_000);
    expect(slackText(hostile)).toBe(hostile);
  });
});
