import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { adopt } from "../../src/cli/openclaw/adopt-command.ts";
import { recordingLogger } from "../unit/hosts/embedded/server/recording-logger.ts";
import { AdoptHost } from "./adopt-host.ts";
import { SHAPES_WITH_CALLS, SIDE } from "./adopt-shapes.ts";
import type { Shape, ShapeCall } from "./adopt-shapes.ts";
import type { ModelCall } from "./scripted-model.ts";

const MAX_CALLS = 10;

/** What an agent was told behind the metadata of the boundary, or all of it where there is none. */
function contentOf({ prompt }: ModelCall): string {
  return /\n---\n([\s\S]*?)\n<<<END_EXTERNAL_UNTRUSTED_CONTENT/.exec(prompt)?.[1] ?? prompt;
}

/** Built-in runs are sessions of the host's schedule, ours are sessions of a plugin. */
const SESSIONS = { "built-in": /^agent:([^:]+):cron:/, reveille: /^agent:([^:]+):subagent:(?:run|kept)-/ } as const;

type Side = keyof typeof SESSIONS;

const ON_BOTH_SIDES = SHAPES_WITH_CALLS.filter(({ oursOnly }) => oursOnly === undefined);
const ON_OURS = SHAPES_WITH_CALLS.filter(({ oursOnly }) => oursOnly !== undefined);

describe("a hooks block of OpenClaw in the real OpenClaw, before and after it is adopted", () => {
  let host: AdoptHost;
  /** Wakes that Reveille has accepted, by shape and text; the host may take its time with the turns. */
  const accepted = new Map<string, { readonly call: ShapeCall; readonly from: number }>();

  beforeAll(async () => {
    host = await AdoptHost.prepare();
    host.writeTransform(
      "mine/shape.mjs",
      "export const shape = ({ payload }) => ({ message: `Shaped of ${payload.word}` });\n",
    );
    host.writeTransform("mine/skip.mjs", "export default () => null;\n");
    const [first] = SHAPES_WITH_CALLS;
    host.configure(first?.name ?? "");
    await host.start();
  });

  afterAll(async () => {
    await (host as AdoptHost | undefined)?.stop();
  });

  /** The runs of one side that were told the text, since a moment. */
  function runsOf(side: Side, text: string, from: number): readonly { agent: string; content: string }[] {
    return host.model.calls.slice(from).flatMap((call) => {
      const agent = SESSIONS[side].exec(call.session)?.[1];
      const content = contentOf(call);
      return agent === undefined || !content.includes(text) ? [] : [{ agent, content }];
    });
  }

  /** Whether a session of the agent was told of a wake, since a moment. */
  function isHeard({ heard }: ShapeCall, from: number, isTold: (session: string, agent: string) => boolean): boolean {
    if (heard === undefined) return false;
    const calls = host.model.calls.slice(from);
    return calls.some(({ session, prompt }) => isTold(session, heard.agent) && prompt.includes(heard.text));
  }

  /** The built-in hooks answer 503 when an agent does not begin in time: then the caller has to come again. */
  async function answerOf({ path, body }: ShapeCall, side: Side): Promise<number> {
    for (let calls = 1; ; calls++) {
      const status = await host.call(path, body, side === "built-in" ? "bearer" : "header");
      if (status !== 503 || side === "reveille" || calls === MAX_CALLS) return status;
    }
  }

  async function callAll(written: Shape, side: Side): Promise<void> {
    const shape = JSON.parse(JSON.stringify(written).replaceAll(SIDE, side)) as Shape;
    const from = host.model.calls.length;
    const sentBefore = host.botApi.sent.length;
    const answers = await Promise.all(shape.calls.map((call) => answerOf(call, side)));
    const expected = shape.calls.map(({ statuses: [builtIn, ours] }) => (side === "built-in" ? builtIn : ours));
    expect(answers).toEqual(expected);
    for (const call of shape.calls) {
      if (call.heard?.by === "wake" && side === "reveille")
        accepted.set(`${shape.name}: ${call.heard.text}`, { call, from });
      // The host forgets what it was told when it ends, so that this has to be heard before anything else happens.
      if (call.heard?.by === "wake" && side === "built-in") {
        await host.eventually(() => expect(isHeard(call, from, isOfAgent)).toBe(true));
      }
      if (call.heard?.by !== "run") continue;
      const { text, agent } = call.heard;
      await host.eventually(() => expect(runsOf(side, text, from).map((run) => run.agent)).toContain(agent));
    }
    for (const { sent } of shape.calls) {
      if (sent === undefined) continue;
      await host.eventually(() => expect(host.botApi.sent.slice(sentBefore)).toContainEqual(sent));
    }
  }

  /** Runs the command on a file; resolves with what it has told. */
  async function adoptFile(file: string): Promise<string> {
    let told = "";
    const createLogger = () => ({ ...recordingLogger(), flush: async () => {} });
    const env = { RECORDED_HOOK_TOKEN: "recorded-hook-token-of-a-variable" };
    const out = (text: string | Uint8Array) => (told += String(text));
    expect(await adopt({ config: file, json: true }, { env, createLogger, out })).toBe(0);
    return told;
  }

  async function callOurs(shape: Shape, told: string): Promise<void> {
    expect(JSON.parse(told)).toMatchObject({ outcome: "adopted" });
    expect(told).not.toContain(host.token);
    await host.untilAnsweredBy("reveille");
    const from = host.model.calls.length;
    await callAll(shape, "reveille");
    expect(host.model.calls.slice(from).filter(({ prompt }) => prompt.includes(host.token))).toEqual([]);
  }

  it.each(ON_BOTH_SIDES)("$name: the same calls do the same", async (shape) => {
    host.configure(shape.name);
    await host.untilAnsweredBy("built-in");
    await callAll(shape, "built-in");
    await callOurs(shape, await adoptFile(host.file));
  });

  it.each(ON_OURS)("$name: does what its block says", async (shape) => {
    await callOurs(shape, await host.configureAdopted(shape.name, adoptFile));
  });

  it("every wake that Reveille has accepted is heard by its agent, in the session that the mapping names or the main one", async () => {
    const wakes = SHAPES_WITH_CALLS.flatMap(({ calls }) => calls).filter(({ heard }) => heard?.by === "wake");
    expect(accepted.size).toBe(wakes.length);
    const unheard = () => [...accepted].filter(([, { call, from }]) => !isHeard(call, from, isOfAgent));
    await host.eventually(() => expect(unheard().map(([name]) => name)).toEqual([]));
  });

  it("the host takes blocks up by itself, as a rule", () => {
    expect(host.restarts).toBeLessThan(SHAPES_WITH_CALLS.length);
  });
});

/** A wake goes to a session of its own where the mapping names one. */
function isOfAgent(session: string, agent: string): boolean {
  return session.startsWith(`agent:${agent}:`);
}
