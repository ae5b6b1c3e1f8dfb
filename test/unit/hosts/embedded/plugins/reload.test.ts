import { EventEmitter, getEventListeners } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { expect, it } from "vitest";
import { PluginSet } from "../../../../../src/hosts/embedded/plugins/reload.ts";
import type { HttpRoute } from "../../../../../src/core/host.ts";
import { pluginHost } from "./plugin-host.ts";

it("a set of plugins that has waited for its requests leaves nothing on the signal that would have ended the waiting", async () => {
  const { host } = pluginHost();
  const nothing = { apply(): void {} };
  const clock = { now: () => Date.now() };
  const set = new PluginSet({ load: [], entries: new Map() }, { host, builtIn: nothing, given: [nothing], clock });
  set.apply([]);
  const routes: HttpRoute[] = [];
  set
    .countRequests({ register: (route) => void routes.push(route) })
    .register({ path: "/x", match: "exact", handler: () => {} });
  const response = new EventEmitter() as ServerResponse;
  await routes[0]?.handler({} as IncomingMessage, response);
  const hurry = new AbortController();
  const retired = set.drain(60_000, hurry.signal);
  expect(getEventListeners(hurry.signal, "abort")).toHaveLength(1);
  response.emit("close");
  await retired;
  expect(getEventListeners(hurry.signal, "abort")).toHaveLength(0);
});
