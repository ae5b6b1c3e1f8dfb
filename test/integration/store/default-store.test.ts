import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { WebhookIngress } from "../../../src/ingress/plugin.ts";
import { AGENT_CALL, IngressHost } from "../../unit/ingress/ingress-host.ts";

describe("the store of an ingress", () => {
  it("is a file of its own in the host's state directory where the host gives none", async () => {
    await using fixture = await IngressHost.listen();
    new WebhookIngress().apply(fixture.host);
    await fixture.load({}, "start");
    expect((await fixture.post("/hooks/agent", AGENT_CALL)).status).toBe(202);
    expect(readdirSync(fixture.folder)).toContain("reveille-deliveries.sqlite");
    await fixture.shutdown(5_000);
    // Closed in order, it leaves no journal behind.
    expect(readdirSync(fixture.folder).filter((name) => name.endsWith("-wal"))).toEqual([]);
  });
});
