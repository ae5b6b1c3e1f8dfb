import { expect, it } from "vitest";
import { Lead, type LeadOptions } from "../../../src/ingress/lead.ts";

it("a gateway that stops leaves the lead to others from then on", () => {
  let declined = 0;
  const store = { shared: { decline: () => void declined++ } };
  new Lead({ store } as unknown as LeadOptions).stop();
  expect(declined).toBe(1);
});
