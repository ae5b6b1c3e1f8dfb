import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, vi } from "vitest";

import type { OpenClawConfig, PluginHttpRoute } from "../../../../src/hosts/openclaw/sdk.ts";
import { withHostDefaults } from "../../../../src/hosts/openclaw/plugin-block.ts";
import { PlaceholderRoute } from "../../../../src/hosts/openclaw/placeholder-route.ts";
import { FakeOpenClaw } from "./fake-openclaw.ts";

type HostRoute = Pick<PluginHttpRoute, "path" | "match" | "auth" | "handler">;

function configWith(block: object | undefined, more: object = {}): OpenClawConfig {
  return { plugins: { entries: { reveille: { config: block } } }, ...more };
}

interface Registered {
  readonly standing: PlaceholderRoute | undefined;
  /** What the host was given. */
  readonly routes: readonly HostRoute[];
}

function register(openClaw: FakeOpenClaw, config: OpenClawConfig | undefined): Registered {
  const routes: HostRoute[] = [];
  openClaw.config = config ?? {};
  const registerHttpRoute = (route: HostRoute): void => void routes.push(route);
  const api = { ...openClaw.api, registerHttpRoute, ...(config === undefined ? {} : { config }) };
  const standing = PlaceholderRoute.register(api, { pluginId: "reveille", block: withHostDefaults });
  return { standing, routes };
}

/** What a call is answered by the route, or by the host when it is not the route's. */
async function call(route: HostRoute | undefined): Promise<Response> {
  const server = createServer((req, res) => {
    void route?.handler(req, res).then((isHandled) => {
      if (!isHandled) res.writeHead(404).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const { port } = server.address() as AddressInfo;
    const init = { method: "POST", body: JSON.stringify({ text: "Wake up." }) };
    const response = await fetch(`http://127.0.0.1:${port}/reveille/wake`, init);
    return new Response(await response.text(), response);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

it("answers 503 until the service is up", async () => {
  using openClaw = new FakeOpenClaw();
  const { routes } = register(openClaw, configWith({ enabled: true }));
  expect(routes).toHaveLength(1);
  const [route] = routes;
  expect(route).toMatchObject({ path: "/reveille", match: "prefix", auth: "plugin" });
  const answer = await call(route);
  expect(answer.status).toBe(503);
  expect(answer.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
  expect(await answer.json()).toMatchObject({ ok: false, code: "NOT_READY" });
});

it("gives the calls to the service that runs, and takes them back", async () => {
  using openClaw = new FakeOpenClaw();
  const { standing, routes } = register(openClaw, configWith({ enabled: true }));
  const [route] = routes;
  standing?.serve(async (_req, res) => {
    res.end("served");
    return true;
  });
  expect(await (await call(route)).text()).toBe("served");
  standing?.serve(undefined);
  expect((await call(route)).status).toBe(503);
});

it.each([
  ["with the hooks turned off", configWith({ enabled: false })],
  ["with the hooks elsewhere", configWith({ enabled: true, path: "/elsewhere" })],
  ["without a block", configWith(undefined)],
  ["without the plugin", { plugins: { entries: { reveille: { enabled: false, config: { enabled: true } } } } }],
])("leaves its calls to the host when there is a configuration %s meanwhile", async (_, config) => {
  using openClaw = new FakeOpenClaw();
  const { routes } = register(openClaw, configWith({ enabled: true }));
  const [route] = routes;
  openClaw.config = config;
  expect((await call(route)).status).toBe(404);
});

it("holds calls as well while the host does not notify a plugin that it is replacing", async () => {
  using openClaw = new FakeOpenClaw();
  const { routes } = register(openClaw, configWith({ enabled: true }));
  const [route] = routes;
  vi.spyOn(openClaw.api.runtime.config, "current").mockImplementation(() => {
    throw new Error("the runtime of the plugin is no longer active");
  });
  expect((await call(route)).status).toBe(503);
});

it("is where the block has the hooks, written in any way that the block may", () => {
  using openClaw = new FakeOpenClaw();
  const { routes } = register(openClaw, configWith({ enabled: true, path: "hooks/" }));
  expect(routes).toMatchObject([{ path: "/hooks" }]);
});

it.each([
  ["the hooks are off", configWith({ enabled: false })],
  ["there is no block", configWith(undefined)],
  ["there is no configuration", undefined],
  ["it would take every path", configWith({ enabled: true, path: "/" })],
  ["the path cannot be one", configWith({ enabled: true, path: "/a/../b" })],
  ["the host's own hooks are there", configWith({ enabled: true, path: "/hooks" }, { hooks: { enabled: true } })],
  ["it would take the operator's API", configWith({ enabled: true, path: "/plugins" })],
])("is absent when %s", (_, config) => {
  using openClaw = new FakeOpenClaw();
  expect(register(openClaw, config)).toEqual({ standing: undefined, routes: [] });
});
