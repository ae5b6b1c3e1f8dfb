import { describe, expect, it } from "vitest";
import { LogThrottle } from "../../../src/ingress/log-throttle.ts";

function logAt() {
  const clock = { time: 1_000, now: () => clock.time };
  const log = new LogThrottle({ clock });
  const lines: string[] = [];
  const tell = (route: string): void => log.log(route, (suppressed) => lines.push(`${route} ${suppressed}`));
  return { clock, lines, tell };
}

describe("the log of refusals", () => {
  it("tells one of a route in ten seconds, and how many it kept to itself", () => {
    const { clock, lines, tell } = logAt();
    for (let count = 0; count < 5; count++) tell("github");
    clock.time += 9_999;
    tell("github");
    expect(lines).toEqual(["github 0"]);
    clock.time += 1;
    tell("github");
    tell("github");
    expect(lines).toEqual(["github 0", "github 5"]);
    clock.time += 10_000;
    tell("github");
    expect(lines.at(-1)).toBe("github 1");
  });

  it("tells of each route by itself", () => {
    const { lines, tell } = logAt();
    for (const route of ["a", "b", "a"]) tell(route);
    expect(lines).toEqual(["a 0", "b 0"]);
  });

  it("goes on when the clock was set back", () => {
    const { clock, lines, tell } = logAt();
    tell("a");
    clock.time = 0;
    tell("a");
    expect(lines).toHaveLength(2);
  });

  it("remembers a bounded number of routes", () => {
    const { lines, tell } = logAt();
    for (let route = 0; route < 1_001; route++) tell(`r${route}`);
    tell("r0");
    tell("r1000");
    expect(lines).toHaveLength(1_002);
  });
});
