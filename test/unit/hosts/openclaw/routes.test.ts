import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { openClawLogger } from "../../../../src/hosts/openclaw/logger.ts";
import { OpenClawRoutes, RouteTable } from "../../../../src/hosts/openclaw/routes.ts";
import type { PluginHttpRoute } from "../../../../src/hosts/openclaw/sdk.ts";
import { PlaceholderRoute } from "../../../../src/hosts/openclaw/placeholder-route.ts";
import { FakeOpenClaw } from "./fake-openclaw.ts";

describe("the routes in the host", () => {
  /** A server that asks the host's routes in order, as the host does, and answers 404 itself. */
  async function serve(openClaw: FakeOpenClaw) {
    const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
      for (const route of openClaw.routes) if (await route.handler(req, res)) return;
      res.writeHead(404).end("nobody's");
    };
    const server = createServer((req, res) => void answer(req, res)).listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return {
      get: async (path: string) => {
        const response = await fetch(url + path).catch(() => undefined);
        return response === undefined ? "broken" : `${response.status} ${await response.text()}`;
      },
      async [Symbol.asyncDispose]() {
        server.closeAllConnections();
        server.close();
        await once(server, "close");
      },
    };
  }

  function routesOf(openClaw: FakeOpenClaw): OpenClawRoutes {
    const logger = openClawLogger(openClaw.logger);
    return new OpenClawRoutes({
      pluginId: "reveille",
      source: "/extensions/reveille",
      register: (route) => openClaw.sdk.registerPluginHttpRoute(route),
      logger,
    });
  }

  function table(...paths: string[]): RouteTable {
    const built = new RouteTable();
    for (const path of paths) {
      built.register({ path, match: "prefix", handler: (_req, res) => void res.end(path) });
    }
    return built;
  }

  it("decides by the path as sent, and leaves unclaimed paths to the host", async () => {
    using openClaw = new FakeOpenClaw();
    await using server = await serve(openClaw);
    const routes = routesOf(openClaw);
    const built = table("/a", "/a/b");
    built.register({ path: "/a", match: "exact", handler: (_req, res) => void res.end("exact") });
    routes.use(built);
    expect(await server.get("/a?x=1")).toBe("200 exact");
    expect(await server.get("/a/x")).toBe("200 /a");
    expect(await server.get("/a/b/c")).toBe("200 /a/b");
    expect(await server.get("/%61/x")).toBe("404 nobody's");
    expect(await server.get("/ab")).toBe("404 nobody's");
  });

  it("takes over by a new table, and gives paths back that it no longer has", () => {
    using openClaw = new FakeOpenClaw();
    const routes = routesOf(openClaw);
    routes.use(table("/a", "/b"));
    routes.use(table("/b", "/c"));
    expect(openClaw.routes.map(({ path }) => path)).toEqual(["/b", "/c"]);
    expect(routes.paths).toEqual(["/b", "/c"]);
    routes.close();
    expect(openClaw.routes).toEqual([]);
  });

  it("stays with the table before when the host does not give a path to the next", async () => {
    using openClaw = new FakeOpenClaw();
    await using server = await serve(openClaw);
    const logger = openClawLogger(openClaw.logger);
    const routes = new OpenClawRoutes({
      pluginId: "reveille",
      source: "/extensions/reveille",
      register(route) {
        if (route.path === "/taken") throw new Error("the path is another plugin's");
        return openClaw.sdk.registerPluginHttpRoute(route);
      },
      logger,
    });
    routes.use(table("/a"));
    expect(() => routes.use(table("/longer-new", "/taken"))).toThrow("another plugin's");
    expect(openClaw.routes.map(({ path }) => path)).toEqual(["/a"]);
    expect(await server.get("/a")).toBe("200 /a");
  });

  it("holds a path for the next table, and gives it back unless that one has it", () => {
    using openClaw = new FakeOpenClaw();
    const routes = routesOf(openClaw);
    routes.use(table("/a"));
    routes.reserve("/a")();
    const giveBack = routes.reserve("/b");
    expect(openClaw.routes.map(({ path }) => path)).toEqual(["/a", "/b"]);
    giveBack();
    expect(openClaw.routes.map(({ path }) => path)).toEqual(["/a"]);
    const keep = routes.reserve("/c");
    routes.use(table("/c"));
    keep();
    expect(openClaw.routes.map(({ path }) => path)).toEqual(["/c"]);
  });

  it("serves the path of the standing route by that route, and leaves it standing", async () => {
    using openClaw = new FakeOpenClaw();
    openClaw.config = { plugins: { entries: { reveille: { config: { enabled: true, path: "/a" } } } } };
    const given: Pick<PluginHttpRoute, "path" | "handler">[] = [];
    const api = {
      ...openClaw.api,
      config: openClaw.config,
      registerHttpRoute: (route: (typeof given)[number]) => void given.push(route),
    };
    const standing = PlaceholderRoute.register(api, { pluginId: "reveille", block: (written) => written });
    const asked: PluginHttpRoute[] = [];
    const routes = new OpenClawRoutes({
      pluginId: "reveille",
      source: "/extensions/reveille",
      register(route) {
        asked.push(route);
        if (route.path === "/a") return () => {};
        return openClaw.sdk.registerPluginHttpRoute(route);
      },
      logger: openClawLogger(openClaw.logger),
      placeholder: standing,
    });
    openClaw.routes.push(...asked, ...(given as PluginHttpRoute[]));
    await using server = await serve(openClaw);
    routes.use(table("/a"));
    expect(asked).toMatchObject([{ path: "/a", reuseExistingSameOwner: true, throwOnFailure: true }]);
    expect(asked[0]).not.toHaveProperty("replaceExisting");
    expect(await server.get("/a/x")).toBe("200 /a");
    routes.close();
    expect(await server.get("/a/x")).toContain("NOT_READY");
  });

  it("answers 500 for a handler that failed, without its reason, and ends an answer that had begun", async () => {
    using openClaw = new FakeOpenClaw();
    await using server = await serve(openClaw);
    const built = new RouteTable();
    const fail = (): never => {
      throw new Error("inner detail");
    };
    built.register({ path: "/fails", match: "exact", handler: fail });
    built.register({
      path: "/breaks",
      match: "exact",
      handler(_req, res) {
        res.write("half");
        fail();
      },
    });
    routesOf(openClaw).use(built);
    expect(await server.get("/fails")).toBe("500 Internal Server Error");
    expect(await server.get("/breaks")).toBe("broken");
    expect(openClaw.log.join("\n")).toContain("inner detail");
  });

  it("refuses a second route for the same path and match", () => {
    expect(() => table("/a", "/a")).toThrow("registered already");
  });
});
