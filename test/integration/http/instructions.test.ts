import { expect, it, vi } from "vitest";
import { HOSTILE_TEXTS } from "./hostile-texts.ts";
import { ModeledGateway, SOON } from "./modeled-gateway.ts";

const OWN = "Find out why the build is red.";
const DIRECT = "Answer in one sentence.";
const BOUNDARY = /<<<EXTERNAL_UNTRUSTED_CONTENT id="(\w+)">>>\n([^]*?)\n<<<END_EXTERNAL_UNTRUSTED_CONTENT id="\1">>>/;

it("instructions reach the model outside the boundary, and what payloads order inside, whatever they try", async () => {
  await using modeled = await ModeledGateway.start({
    agentInstructions: DIRECT,
    concurrency: 8,
    mappings: [
      {
        match: { path: "ci" },
        name: "CI",
        instructions: OWN,
        messageTemplate: "The build of {{branch}} failed: {{text}}",
        deliver: false,
        wakeMode: "next-heartbeat",
      },
    ],
  });
  const { gateway, model } = modeled;
  const bodies = HOSTILE_TEXTS.map((text, at) => ({ branch: `b${at}`, text }));
  for (const body of bodies) await gateway.post("/hooks/ci", body);
  const direct = { message: HOSTILE_TEXTS[0], deliver: false, wakeMode: "next-heartbeat" };
  await gateway.post("/hooks/agent", direct);

  await vi.waitFor(() => expect(model.prompts).toHaveLength(bodies.length + 1), SOON);
  for (const written of model.prompts) {
    const prompt = JSON.parse(written) as string;
    const isDirect = !prompt.includes("The build of");
    const start = `Instructions of this gateway's owner:\n${isDirect ? DIRECT : OWN}\n\n`;
    expect(prompt.startsWith(start)).toBe(true);
    expect(prompt.slice(start.length)).toMatch(/^Canary of this prompt: [0-9a-f]{20}\.[^\n]*\n\nUNTRUSTED/u);
    const outside = prompt.replace(BOUNDARY, "");
    expect(outside).not.toBe(prompt);
    expect(outside).not.toMatch(/OBEY/i);
  }
});
