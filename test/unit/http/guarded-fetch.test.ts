import { getEventListeners } from "node:events";
import { text as textOf } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, describe, expect, test, vi } from "vitest";
import { createGuardedFetch, FetchError, fetchableUrl, isSuccess } from "../../../src/http/guarded-fetch.ts";
import type { GuardedFetchOptions } from "../../../src/http/guarded-fetch.ts";
import { eventually, json, silence, startKeyServer, text } from "../auth/keys/key-server.ts";
import { makeCertificate, trustAuthority } from "../auth/keys/make-certificate.ts";

const authority = makeCertificate({ commonName: "Test Authority" });
const certificate = makeCertificate({ commonName: "keys", hosts: ["keys.example.com"], issuer: authority });

afterAll(trustAuthority(authority.pem));

/** A fetch for which every name is at 127.0.0.1. */
function loopbackFetch(options: GuardedFetchOptions = {}) {
  return createGuardedFetch({
    allowLoopback: true,
    timeoutMs: 15_000,
    resolve: () => Promise.resolve([{ address: "127.0.0.1", family: 4 }]),
    ...options,
  });
}

/** What a fetch rejects with. */
async function failureOf(fetched: Promise<unknown>): Promise<FetchError> {
  const failure = await fetched.then(
    () => new Error("It was fetched."),
    (error: unknown) => error,
  );
  expect(failure).toBeInstanceOf(FetchError);
  expect((failure as FetchError).name).toBe("FetchError");
  return failure as FetchError;
}

describe("URLs that may be fetched", () => {
  test.each([
    ["http://keys.example.com/", "its URL does not begin with https://"],
    ["http://127.0.0.1/", "its URL does not begin with https://"],
    ["ftp://keys.example.com/", "its URL does not begin with https://"],
    ["file:///etc/passwd", "its URL does not begin with https://"],
    ["data:text/plain,keys", "its URL does not begin with https://"],
    ["https://user@keys.example.com/", "its URL holds credentials"],
    ["https://:password@keys.example.com/", "its URL holds credentials"],
    ["https://keys.example.com:8443/", "its URL names another port than 443"],
    ["https://keys.example.com:80/", "its URL names another port than 443"],
    ["keys.example.com", "its URL cannot be read"],
    ["", "its URL cannot be read"],
    [`https://keys.example.com/${"k".repeat(2024)}`, "its URL cannot be read"],
  ])("%s is not fetched", async (url, reason) => {
    expect(() => fetchableUrl(url)).toThrow(new FetchError(reason));
    expect((await failureOf(createGuardedFetch()(url))).message).toBe(reason);
  });

  test.each([
    "https://keys.example.com/certs",
    "https://keys.example.com:443/certs",
    `https://keys.example.com/${"k".repeat(2023)}`,
  ])("%s is fetched", (url) => {
    expect(fetchableUrl(url).origin).toBe("https://keys.example.com");
  });

  test("for tests only, http is allowed too, at 127.0.0.1 alone", () => {
    expect(fetchableUrl("http://127.0.0.1:8080/", { allowLoopback: true }).port).toBe("8080");
    expect(() => fetchableUrl("http://127.0.0.2/", { allowLoopback: true })).toThrow("its URL does not begin with");
    expect(() => fetchableUrl("http://localhost/", { allowLoopback: true })).toThrow("its URL does not begin with");
    expect(() => fetchableUrl("ftp://127.0.0.1/", { allowLoopback: true })).toThrow("its URL does not begin with");
  });
});

describe("addresses that a host may have", () => {
  const literals = ["127.0.0.1", "10.0.0.1", "169.254.169.254", "[::1]", "[fd00::1]", "[::ffff:127.0.0.1]", "0x7f.1"];

  test.each(literals)("https://%s is not fetched", async (host) => {
    const failure = await failureOf(createGuardedFetch()(`https://${host}/`));
    expect(failure.message).toBe("its host has an address that is not public");
  });

  test.each(["127.0.0.1", "10.1.2.3", "169.254.169.254", "100.64.0.1", "::1", "fd00::1", "::ffff:10.0.0.1"])(
    "a name whose address is %s is not fetched, nor when that is one of several",
    async (address) => {
      const bad = { address, family: address.includes(":") ? 6 : 4 };
      for (const addresses of [[bad], [{ address: "8.8.8.8", family: 4 }, bad]]) {
        const fetch = createGuardedFetch({ resolve: () => Promise.resolve(addresses) });
        const failure = await failureOf(fetch("https://keys.example.com/"));
        expect(failure.message).toBe("its host has an address that is not public");
      }
    },
  );

  test("localhost, as the system resolves it, is not fetched", async () => {
    const failure = await failureOf(createGuardedFetch()("https://localhost/"));
    expect(failure.message).toBe("its host has an address that is not public");
  });

  test.each(["127.0.0.2", "10.0.0.1", "::1"])("also for tests %s is not fetched", async (address) => {
    const fetch = loopbackFetch({ resolve: () => Promise.resolve([{ address, family: 4 }]) });
    expect((await failureOf(fetch("https://keys.example.com/"))).message).toBe(
      "its host has an address that is not public",
    );
  });

  test("a name without an address is not fetched", async () => {
    const fetch = createGuardedFetch({ resolve: () => Promise.resolve([]) });
    expect((await failureOf(fetch("https://keys.example.com/"))).message).toBe("its host has no address");
  });

  test("a name that cannot be resolved is reported by its code alone", async () => {
    const cause = Object.assign(new Error("getaddrinfo ENOTFOUND keys.example.com"), { code: "ENOTFOUND" });
    const failure = await failureOf(createGuardedFetch({ resolve: () => Promise.reject(cause) })("https://k.example/"));
    expect(failure.message).toBe("it could not be fetched (ENOTFOUND)");
    expect(failure.cause).toBe(cause);
  });

  const codeless: readonly unknown[] = [
    new Error("secret"),
    Object.assign(new Error("secret"), { code: 7 }),
    "secret",
    { code: "secret" },
  ];

  test.each(codeless)("an error without a code is reported without its message (%#)", async (thrown) => {
    const reject: (reason: unknown) => Promise<never> = Promise.reject.bind(Promise);
    const failure = await failureOf(createGuardedFetch({ resolve: () => reject(thrown) })("https://k.example/"));
    expect(failure.message).toBe("it could not be fetched (no code)");
  });

  test("a name is resolved once, and the connection goes to the address that was checked", async () => {
    const server = await startKeyServer(text("here"), { certificate });
    const resolve = vi
      .fn<() => Promise<{ address: string; family: number }[]>>()
      .mockResolvedValueOnce([{ address: "127.0.0.1", family: 4 }])
      .mockResolvedValue([{ address: "10.0.0.1", family: 4 }]);
    const fetch = loopbackFetch({ resolve });
    const url = `https://keys.example.com:${server.port}/`;
    expect((await fetch(url)).body.toString()).toBe("here");
    expect(resolve).toHaveBeenCalledExactlyOnceWith("keys.example.com");
    expect((await failureOf(fetch(url))).message).toBe("its host has an address that is not public");
    expect(server.asked).toEqual(["/"]);
  });
});

describe("the server's certificate", () => {
  test("it is fetched from a host whose certificate is good for its name", async () => {
    const server = await startKeyServer((response, request) => response.end(request.headers.host), { certificate });
    const fetch = loopbackFetch();
    const { status, body } = await fetch(`https://keys.example.com:${server.port}/certs?v=1`);
    expect({ status, body: body.toString() }).toEqual({ status: 200, body: `keys.example.com:${server.port}` });
    expect(server.asked).toEqual(["/certs?v=1"]);
  });

  test("it is not fetched from a host whose certificate names another", async () => {
    const server = await startKeyServer(text("here"), { certificate });
    const fetch = loopbackFetch();
    expect((await failureOf(fetch(`https://other.example.com:${server.port}/`))).message).toBe(
      "it could not be fetched (ERR_TLS_CERT_ALTNAME_INVALID)",
    );
    expect(server.asked).toEqual([]);
  });

  test("it is not fetched from a host whose certificate an unknown authority signed, whatever the environment says", async () => {
    vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
    const issuer = makeCertificate({ commonName: "Unknown Authority" });
    const unknown = makeCertificate({ commonName: "keys", hosts: ["keys.example.com"], issuer });
    const server = await startKeyServer(text("here"), { certificate: unknown });
    expect((await failureOf(loopbackFetch()(`https://keys.example.com:${server.port}/`))).message).toBe(
      "it could not be fetched (UNABLE_TO_VERIFY_LEAF_SIGNATURE)",
    );
    expect(server.asked).toEqual([]);
  });
});

describe("answers", () => {
  test("a good one is given with status, headers and body", async () => {
    const server = await startKeyServer(json({ keys: [] }, { "cache-control": "max-age=60" }));
    const { status, headers, body } = await loopbackFetch()(`${server.origin}/certs`);
    expect(status).toBe(200);
    expect(headers["cache-control"]).toBe("max-age=60");
    expect(body.toString()).toBe('{"keys":[]}');
  });

  test("the request says who asks and wants no compression", async () => {
    const server = await startKeyServer((response, { method, headers }) => {
      response.end(JSON.stringify([method, headers["user-agent"], headers["accept-encoding"], headers.accept]));
    });
    const { body } = await loopbackFetch()(server.origin);
    expect(JSON.parse(body.toString())).toEqual(["GET", "reveille", "identity", "*/*"]);
  });

  test.each([400, 404, 410, 500, 503])("of status %i only the status is given", async (status) => {
    const server = await startKeyServer(text("why", status));
    const answer = await loopbackFetch()(server.origin);
    expect({ status: answer.status, size: answer.body.length }).toEqual({ status, size: 0 });
  });

  test.each([200, 201, 299])("of status %i the body is given", async (status) => {
    const server = await startKeyServer(text("here", status));
    const answer = await loopbackFetch()(server.origin);
    expect({ status: answer.status, body: answer.body.toString() }).toEqual({ status, body: "here" });
  });

  test.each([300, 301, 302, 304, 307, 308, 399])("a redirect (%i) is not followed", async (status) => {
    const server = await startKeyServer((response) => {
      response.writeHead(status, { location: "/elsewhere" });
      response.end();
    });
    const failure = await failureOf(loopbackFetch()(server.origin));
    expect(failure.message).toBe(`it answers with a redirect (${status})`);
    expect(server.asked).toEqual(["/"]);
  });

  test("an answer of 256 KiB is taken", async () => {
    const body = "k".repeat(262_144);
    const server = await startKeyServer(text(body));
    expect((await loopbackFetch()(server.origin)).body.length).toBe(262_144);
    server.answer = (response) => response.writeHead(200, { "content-length": "262144" }).end(body);
    expect((await loopbackFetch()(server.origin)).body.length).toBe(262_144);
  });

  test("a larger one is refused at the length it declares", async () => {
    const server = await startKeyServer((response) => {
      response.writeHead(200, { "content-length": "262145" });
      response.write("k");
    });
    const failure = await failureOf(loopbackFetch()(server.origin));
    expect(failure.message).toBe("its answer is larger than 262144 bytes");
  });

  test("a larger one that declares no length is cut off", async () => {
    const closed = Promise.withResolvers<void>();
    const server = await startKeyServer((response) => {
      response.on("close", closed.resolve);
      response.write("k".repeat(1000));
      response.write("k".repeat(25));
    });
    const failure = await failureOf(loopbackFetch({ maxBytes: 1024 })(server.origin));
    expect(failure.message).toBe("its answer is larger than 1024 bytes");
    await closed.promise;
  });

  test("an error's body is not read, and its connection is closed", async () => {
    const closed = Promise.withResolvers<void>();
    const server = await startKeyServer((response) => {
      response.on("close", closed.resolve);
      response.writeHead(404).write("and so on");
    });
    expect((await loopbackFetch()(server.origin)).status).toBe(404);
    await closed.promise;
  });

  test("from 200 to 299 an answer is a success", () => {
    expect([199, 200, 299, 300].map(isSuccess)).toEqual([false, true, true, false]);
  });

  test("a connection that is closed without an answer is a failure", async () => {
    const server = await startKeyServer((response) => response.socket?.end());
    expect((await failureOf(loopbackFetch()(server.origin))).message).toBe("it could not be fetched (ECONNRESET)");
  });

  test("a connection that is closed within an answer is a failure", async () => {
    const server = await startKeyServer((response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("k", () => response.destroy());
    });
    expect((await failureOf(loopbackFetch()(server.origin))).message).toBe("it could not be fetched (ECONNRESET)");
  });

  test("an answer that changes the protocol is a failure", async () => {
    const server = await startKeyServer((response) => {
      response.socket!.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n");
    });
    const failure = await failureOf(loopbackFetch()(server.origin));
    expect(failure.message).toBe("the connection was closed without an answer");
  });

  test("a port without a listener is a failure", async () => {
    const failure = await failureOf(loopbackFetch()("http://127.0.0.1:3/"));
    expect(failure.message).toBe("it could not be fetched (ECONNREFUSED)");
  });
});

describe("a POST", () => {
  test("carries its body and headers, and who sends it; of the answer only the status is read", async () => {
    const sent: unknown[] = [];
    const server = await startKeyServer(
      (response, request) => {
        const { method, headers } = request;
        void textOf(request).then((body) => {
          sent.push([
            method,
            headers["content-type"],
            headers["content-length"],
            headers["user-agent"],
            headers.host,
            body,
          ]);
          response.writeHead(202, { "x-request-id": "7" }).end("k".repeat(300_000));
        });
      },
      { certificate },
    );
    const post = { headers: { "content-type": "application/json" }, body: '{"text":"caf\u00e9"}' };
    const fetch = loopbackFetch();
    const answer = await fetch(`https://keys.example.com:${server.port}/done`, { post });
    expect(answer).toMatchObject({ status: 202, headers: { "x-request-id": "7" } });
    expect(answer.body).toHaveLength(0);
    expect(sent).toEqual([
      ["POST", "application/json", "16", "reveille", `keys.example.com:${server.port}`, '{"text":"caf\u00e9"}'],
    ]);
  });

  test.each([301, 307, 308])("is not sent on by a redirect (%i), and that will be so the next time", async (status) => {
    const server = await startKeyServer((response) => response.writeHead(status, { location: "/elsewhere" }).end());
    const failure = await failureOf(loopbackFetch()(server.origin, { post: { headers: {}, body: "{}" } }));
    expect(failure).toMatchObject({ message: `it answers with a redirect (${status})`, retryable: false });
    expect(server.asked).toEqual(["/"]);
  });
});

describe("what may succeed later", () => {
  test("is what the network or the server did not do in time", async () => {
    const server = await startKeyServer(silence);
    const fetch = loopbackFetch({ timeoutMs: 50 });
    const [slow] = Array.from({ length: 8 + 256 }, () => failureOf(fetch(server.origin)));
    expect(await failureOf(fetch(server.origin))).toMatchObject({ retryable: true });
    expect(await slow).toMatchObject({ retryable: true });
    await server.stop();
    expect(await failureOf(fetch(server.origin))).toMatchObject({ retryable: true });
  });

  test("is nothing that is refused for what it is", async () => {
    for (const url of ["http://keys.example.com/", "https://10.0.0.1/", "https://keys.example.com:81/"]) {
      expect(await failureOf(createGuardedFetch()(url))).toMatchObject({ retryable: false });
    }
  });
});

describe("bounds", () => {
  test("a server that never answers is given up", async () => {
    const server = await startKeyServer(silence);
    const failure = await failureOf(loopbackFetch({ timeoutMs: 50 })(server.origin));
    expect(failure.message).toBe("it took longer than 50 ms");
  });

  test("a server that never ends is given up", async () => {
    let open = 0;
    const server = await startKeyServer((response) => {
      open++;
      const timer = setInterval(() => response.write("k"), 5);
      response.on("close", () => {
        clearInterval(timer);
        open--;
      });
    });
    const failure = await failureOf(loopbackFetch({ timeoutMs: 80 })(server.origin));
    expect(failure.message).toBe("it took longer than 80 ms");
    // On a slow machine the time may be up before the server was asked.
    await eventually(() => expect(open).toBe(0));
  });

  test("no timer is left once a fetch has ended", async () => {
    const server = await startKeyServer(text("here"));
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      await loopbackFetch()(server.origin);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  test("nothing listens any more to what could have stopped a fetch that has ended", async () => {
    const server = await startKeyServer(text("here"));
    const joined = vi.spyOn(AbortSignal, "any");
    try {
      await loopbackFetch()(server.origin, { signal: new AbortController().signal });
      const [result] = joined.mock.results;
      await eventually(() => expect(getEventListeners(result?.value as AbortSignal, "abort")).toEqual([]));
    } finally {
      joined.mockRestore();
    }
  });

  test("a name whose resolution never ends is given up", async () => {
    const { promise } = Promise.withResolvers<never>();
    const fetch = createGuardedFetch({ timeoutMs: 50, resolve: () => promise });
    expect((await failureOf(fetch("https://keys.example.com/"))).message).toBe("it took longer than 50 ms");
  });

  test("nothing is asked once a fetch was stopped while its name was resolved", async () => {
    const server = await startKeyServer(text("here"), { certificate });
    const { promise, resolve } = Promise.withResolvers<{ address: string; family: number }[]>();
    const fetch = loopbackFetch({ resolve: () => promise });
    const stop = new AbortController();
    const fetched = fetch(`https://keys.example.com:${server.port}/`, { signal: stop.signal });
    await delay(1);
    stop.abort(new FetchError("stopped"));
    expect((await failureOf(fetched)).message).toBe("stopped");
    resolve([{ address: "127.0.0.1", family: 4 }]);
    await delay(50);
    expect(server.asked).toEqual([]);
  });

  test("a stopped fetch closes its connection", async () => {
    const closed = Promise.withResolvers<void>();
    const stop = new AbortController();
    const server = await startKeyServer((response) => {
      response.on("close", closed.resolve);
      stop.abort(new FetchError("stopped"));
    });
    expect((await failureOf(loopbackFetch()(server.origin, { signal: stop.signal }))).message).toBe("stopped");
    await closed.promise;
  });

  test("what is stopped already is not begun", async () => {
    const resolve = vi.fn<() => Promise<{ address: string; family: number }[]>>();
    const signal = AbortSignal.abort(new FetchError("stopped"));
    const fetched = loopbackFetch({ resolve })("https://keys.example.com/", { signal });
    expect((await failureOf(fetched)).message).toBe("stopped");
    expect(resolve).not.toHaveBeenCalled();
  });

  test("so many go at a time, so many wait in order, and further ones are refused", async () => {
    const held: (() => void)[] = [];
    const server = await startKeyServer((response) => held.push(() => response.end("here")));
    const fetch = loopbackFetch();
    const paths = Array.from({ length: 8 + 256 }, (_, index) => `/${index}`);
    const fetched = paths.map((path) => fetch(server.origin + path));
    expect((await failureOf(fetch(`${server.origin}/more`))).message).toBe("too many concurrent fetches");
    await eventually(() => expect(held.length).toBe(8));
    expect(server.asked.toSorted()).toEqual(paths.slice(0, 8));
    for (let next = 8; next < paths.length; next++) {
      held[next - 8]!();
      await eventually(() => expect(server.asked[next]).toBe(paths[next]));
    }
    for (const answer of held.slice(-8)) answer();
    await Promise.all(fetched);
  });

  test("a fetch that fails lets the next one pass", async () => {
    const server = await startKeyServer(text("here"));
    const fetch = loopbackFetch();
    for (let failed = 0; failed < 9; failed++) await failureOf(fetch("https://10.0.0.1/"));
    expect((await fetch(server.origin)).status).toBe(200);
    expect((await fetch(server.origin)).status).toBe(200);
  });

  test("a URL that is not fetched takes no place", async () => {
    const server = await startKeyServer(text("here"));
    const fetch = loopbackFetch();
    for (let failed = 0; failed < 9; failed++) await failureOf(fetch("http://keys.example.com/"));
    expect((await fetch(server.origin)).status).toBe(200);
  });
});
