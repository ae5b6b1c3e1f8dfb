import { expect, it } from "vitest";
import type { HttpRoute, HttpRouter } from "../../../src/core/host.ts";
import type { SuiteContext } from "./describe-gateway-host.ts";
import type { RunningHost } from "./gateway-host-harness.ts";
import { ProbePlugin } from "./probe-plugin.ts";

/** Routes of plugins. */
export function testRouter({ start }: SuiteContext): void {
  const echo: HttpRoute["handler"] = (req, res) => void res.end(`${req.method} ${req.url}`);

  async function serve(build: (router: HttpRouter) => void): Promise<RunningHost> {
    return await start([new ProbePlugin({ onHttpRoute: build })]);
  }

  it("gives a prefix the path itself and everything below it, and nothing beside it", async () => {
    const running = await serve((router) => {
      router.register({ path: "/probe", match: "prefix", handler: echo });
    });
    for (const path of ["/probe", "/probe/", "/probe/a/b", "/probe?x=1", "/probe/%20"]) {
      expect(await (await fetch(running.url + path)).text()).toBe(`GET ${path}`);
    }
    for (const path of ["/probes", "/Probe", "/%70robe"]) {
      expect(await (await fetch(running.url + path)).text()).not.toContain(path);
    }
  });

  it("gives an exact route its path alone", async () => {
    const running = await serve((router) => {
      router.register({ path: "/probe", match: "exact", handler: echo });
    });
    expect(await (await fetch(`${running.url}/probe?x=1`)).text()).toBe("GET /probe?x=1");
    expect(await (await fetch(`${running.url}/probe/x`)).text()).not.toContain("GET");
  });

  it("throws at a second route for the same path and match, and takes the same path with the other match", async () => {
    const errors: unknown[] = [];
    const running = await serve((router) => {
      router.register({ path: "/probe", match: "exact", handler: (_req, res) => void res.end("exact") });
      router.register({ path: "/probe", match: "prefix", handler: (_req, res) => void res.end("prefix") });
      for (const match of ["exact", "prefix"] as const) {
        try {
          router.register({ path: "/probe", match, handler: echo });
        } catch (error) {
          errors.push(error);
        }
      }
    });
    expect(errors).toHaveLength(2);
    expect(await (await fetch(`${running.url}/probe`)).text()).toBe("exact");
    expect(await (await fetch(`${running.url}/probe/x`)).text()).toBe("prefix");
  });

  it("hands over plain Node requests with the body unread, whatever the method", async () => {
    const running = await serve((router) => {
      router.register({
        path: "/probe",
        match: "exact",
        async handler(req, res) {
          const unread = req.readableDidRead ? "read" : "unread";
          let body = "";
          for await (const chunk of req) body += String(chunk);
          res.end(`${req.method} ${unread} ${body}`);
        },
      });
    });
    for (const method of ["POST", "PUT", "DELETE"]) {
      const response = await fetch(`${running.url}/probe`, { method, body: "bytes" });
      expect(await response.text()).toBe(`${method} unread bytes`);
    }
  });

  it("survives a handler that throws or rejects, and discloses nothing of it to the caller", async () => {
    const running = await serve((router) => {
      router.register({
        path: "/throws",
        match: "exact",
        handler() {
          throw new Error("inner detail");
        },
      });
      router.register({
        path: "/rejects",
        match: "exact",
        handler: () => Promise.reject(new Error("inner detail")),
      });
    });
    for (const path of ["/throws", "/rejects", "/throws"]) {
      const response = await fetch(running.url + path);
      expect(response.status).toBe(500);
      expect(await response.text()).not.toContain("inner detail");
    }
  });
}
