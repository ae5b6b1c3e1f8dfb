import { expect, it } from "vitest";
import { ServiceHealth } from "../../../../src/hosts/openclaw/service-health.ts";

/** What the host keeps of a service: one failure, or none. */
class OneFailure {
  failure: string | undefined;
  reportFailure(error: unknown): void {
    this.failure = (error as Error).message;
  }
  clearFailure(): void {
    this.failure = undefined;
  }
}

it("reports the first of several problems, and the next one once that is over", () => {
  const host = new OneFailure();
  const health = new ServiceHealth(host);
  health.setStalled("agent:main:main", true);
  expect(host.failure).toBe("System events wait and no turn takes them: agent:main:main.");
  health.set("address", new Error("not reached"));
  expect(host.failure).toBe("not reached");
  health.set("configuration", new Error("refused"));
  expect(host.failure).toBe("refused");

  health.set("address", new Error("still not reached"));
  expect(host.failure).toBe("refused");
  health.set("configuration", undefined);
  expect(host.failure).toBe("still not reached");
  health.set("address", undefined);
  expect(host.failure).toContain("System events wait");
  health.setStalled("agent:main:main", false);
  expect(host.failure).toBeUndefined();
});

it("stays unhealthy until a turn has taken the events of every stalled session, and names some", () => {
  const host = new OneFailure();
  const health = new ServiceHealth(host);
  for (const session of ["a", "b", "c", "d"]) health.setStalled(session, true);
  expect(host.failure).toContain(": a, b, c.");
  for (const session of ["a", "b", "c"]) health.setStalled(session, false);
  expect(host.failure).toContain(": d.");
  health.setStalled("d", false);
  expect(host.failure).toBeUndefined();
});

it("does without a host that shows no health of services", () => {
  expect(() => new ServiceHealth(undefined).setStalled("a", true)).not.toThrow();
});
