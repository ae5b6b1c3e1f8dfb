import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isRefusal } from "../../../../src/core/errors.ts";
import type { ActiveConfig } from "../../../../src/ingress/active-config.ts";
import { authenticate } from "../../../../src/ingress/stages/authenticate.ts";
import { RequestFacts } from "../../../../src/ingress/request-log.ts";
import { edge } from "../../../../src/ingress/stages/edge.ts";
import { GOOD_TOKEN } from "../../config/hooks-context.ts";
import { withRequest } from "../../http/wire.ts";
import { StageBench } from "./stage-bench.ts";

describe("authenticate", () => {
  let bench: StageBench;
  let active: ActiveConfig;

  beforeEach(async () => {
    bench = await StageBench.open();
    active = await bench.active({ lockout: { failures: 2 } });
    bench.limit = 1_000;
  });
  afterEach(() => bench[Symbol.asyncDispose]());

  /** The result of a request with that authorization: the scheme of its credential, or the code of the refusal. */
  async function outcome(authorization?: string, target = "/hooks/wake"): Promise<string> {
    const headers = authorization === undefined ? "" : `Authorization: ${authorization}\r\n`;
    const credential = await withRequest(
      (req) => {
        const request = edge(bench.ingress, active, req, new RequestFacts());
        if (isRefusal(request)) throw new Error(request.refused);
        return authenticate(active, request);
      },
      (socket) => socket.write(`POST ${target} HTTP/1.1\r\nHost: localhost\r\n${headers}Content-Length: 9\r\n\r\n`),
    );
    return isRefusal(credential) ? credential.refused : (credential?.scheme ?? "the sender's own");
  }

  it("spec 5.1: asks for the hook token, before a byte of the body has come", async () => {
    expect(await outcome(`Bearer ${GOOD_TOKEN}`)).toBe("token");
    expect(await outcome("Bearer wrong")).toBe("UNAUTHORIZED");
    expect(await outcome()).toBe("UNAUTHORIZED");
  });

  it("asks no plugin when none tapped, and answers at once", async () => {
    const answer = await withRequest(
      (req) => {
        const request = edge(bench.ingress, active, req, new RequestFacts());
        return isRefusal(request) || authenticate(active, request);
      },
      (socket) => socket.write("POST /hooks/wake HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"),
    );
    expect(answer).toMatchObject({ refused: "UNAUTHORIZED" });
    expect(bench.hooks.authenticate.isUsed()).toBe(false);
  });

  it("takes the sender that a plugin knows, which sees what it needs and costs the address no failure", async () => {
    const seen: unknown[] = [];
    bench.hooks.authenticate.tapPromise("partner", async ({ method, path, query, headers, clientAddress }) => {
      seen.push({ method, path, query, authorization: headers.authorization, clientAddress });
      const known = headers.authorization === "Partner 7";
      return known ? { scheme: "partner", id: "7" } : undefined;
    });
    for (let call = 0; call < 4; call++) expect(await outcome("Partner 7", "/hooks/in?a=1")).toBe("partner");
    expect(seen[0]).toEqual({
      method: "POST",
      path: "in",
      query: { a: "1" },
      authorization: "Partner 7",
      clientAddress: "127.0.0.1",
    });
  });

  it("asks for the token when no plugin knows the sender", async () => {
    bench.hooks.authenticate.tap("partner", () => undefined);
    expect(await outcome(`Bearer ${GOOD_TOKEN}`)).toBe("token");
    expect(await outcome("Partner 8")).toBe("UNAUTHORIZED");
  });

  it("spec 5.5: counts failures against the address, and the right token is never locked out", async () => {
    const outcomes = [await outcome("Bearer a"), await outcome("Bearer b"), await outcome("Bearer c")];
    expect(outcomes).toEqual(["UNAUTHORIZED", "UNAUTHORIZED", "TOO_MANY_FAILURES"]);
    expect(await outcome(`Bearer ${GOOD_TOKEN}`)).toBe("token");
  });
});
