import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Findings } from "../../../src/config/errors.ts";
import type { ChannelMessage, HostError } from "../../../src/core/host.ts";
import { EmbeddedChannels } from "../../../src/hosts/embedded/channels.ts";
import { readChannels } from "../../../src/hosts/embedded/config/channels.ts";
import { TemporaryGateway } from "../../unit/hosts/embedded/state/temporary-gateway.ts";
import type { Platform } from "./platform.ts";

/** A channel, and what its platform is known for. */
export interface ChannelUnderTest {
  readonly name: string;
  /** Characters of one message. */
  readonly limit: number;
  /** How long the platform wants to be left alone when it is busy, if it says so. */
  readonly retryAfterMs: number | undefined;
  /** A part of the reason of a refused message. */
  readonly problem: string;
  /** No error holds them. */
  readonly secrets: readonly string[];
  /** How the platform gets {@link MARKDOWN} and {@link HOSTILE}; `undefined`: as they are. */
  readonly shown: { readonly markdown: string; readonly hostile: string | undefined };
  readonly to?: string;
  /** Opens the platform, and the channel's block of the configuration. */
  readonly open: () => Promise<{ readonly platform: Platform; readonly written: object }>;
}

const MARKDOWN = "**Red** _since_ [build 7](https://ci.example/7) `a<b`";
const HOSTILE = "<b>no</b> <!channel> @everyone &amp; {{secret}}";
const ID = "own";

/** The promises of every channel that sends over the network. */
export function describeChannel(under: ChannelUnderTest): void {
  describe(`the channel ${under.name}`, () => {
    let gateway: TemporaryGateway;
    let channels: EmbeddedChannels;
    let platform: Platform;
    let written: object;

    beforeEach(async () => {
      gateway = await TemporaryGateway.open();
      ({ platform, written } = await under.open());
      configure({});
    });
    afterEach(async () => {
      await gateway[Symbol.asyncDispose]();
      await platform[Symbol.asyncDispose]();
    });

    function configure(changes: object): void {
      const findings = new Findings();
      const context = { sources: { configDir: "/nonexistent", env: {} }, findings };
      const file = { [ID]: { ...written, ...changes } } as Parameters<typeof readChannels>[0];
      const read = readChannels(file, context, { keep: (make) => make(), before: undefined });
      expect(findings.issues).toEqual([]);
      gateway.config = { ...gateway.config, channels: read };
      channels = new EmbeddedChannels(gateway.parts);
    }

    function message(changes: Partial<ChannelMessage> = {}): ChannelMessage {
      const { to = "recipient" } = under;
      return { channel: ID, to, text: "The build is red.", idempotencyKey: "run-1:reply", ...changes };
    }

    async function failure(sending: Promise<void>): Promise<HostError> {
      const error = await sending.then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(error).toMatchObject({ name: "HostError" });
      for (const secret of under.secrets) expect((error as Error).message).not.toContain(secret);
      return error as HostError;
    }

    it("is listed, sends a message and records it", async () => {
      expect(channels.list().map(({ id }) => id)).toEqual(["console", ID]);
      await channels.send(message());
      expect(platform.taken).toEqual(["The build is red."]);
      expect((await channels.outbox({ limit: 5 })).messages).toMatchObject([{ channel: ID, state: "sent" }]);
    });

    it("writes markdown as its platform takes it", async () => {
      await channels.send(message({ text: MARKDOWN }));
      expect(platform.taken).toEqual([under.shown.markdown]);
    });

    it("sends hostile text as text", async () => {
      await channels.send(message({ text: HOSTILE }));
      expect(platform.taken).toEqual([under.shown.hostile ?? HOSTILE]);
    });

    it("sends the same key once", async () => {
      await channels.send(message());
      await channels.send(message());
      expect(platform.taken).toHaveLength(1);
    });

    it("splits a long text at paragraphs, in order, and sends what is left after a failure", async () => {
      const paragraphs = Array.from(
        { length: 30 },
        (_, at) => `Paragraph ${at} ${"word ".repeat(under.limit / 60)}end.`,
      );
      platform.takesAtMost = 1;
      await failure(channels.send(message({ text: paragraphs.join("\n\n") })));
      expect(platform.taken).toHaveLength(1);
      platform.takesAtMost = Infinity;
      await channels.send(message({ text: paragraphs.join("\n\n") }));
      await channels.send(message({ text: paragraphs.join("\n\n") }));
      expect(platform.taken.length).toBeGreaterThan(1);
      for (const part of platform.taken) expect(part.length).toBeLessThanOrEqual(under.limit);
      expect(platform.taken.join("\n\n").split(/\s+/u).filter(Boolean)).toEqual(
        paragraphs.join("\n\n").split(/\s+/u).filter(Boolean),
      );
      expect(platform.taken.every((part) => part.startsWith("Paragraph"))).toBe(true);
    });

    it("sends no part that its platform refuses for its length, whatever the text", { timeout: 30_000 }, async () => {
      // More bytes than characters; longer with its escapes; longer with its marks, here of a list and a quotation.
      const texts = ["語", "& <語>", "- a\n語", "> a\n語", '"\n語'].map((start) => [start, "\n語"]);
      for (const [start = "", next = ""] of [...texts, ["", "語"], ["", "& <語> "]]) {
        const text = start + next.repeat(under.limit / next.length);
        platform.taken.length = 0;
        await channels.send(message({ text, idempotencyKey: `run-${start}${next}:reply` }));
        expect(platform.taken.join("").split("語")).toHaveLength(text.split("語").length);
      }
    });

    it("asks again later when the platform is busy, as late as it asks", async () => {
      platform.mood = "is busy";
      const error = await failure(channels.send(message()));
      expect([error.retryable, error.retryAfterMs]).toEqual([true, under.retryAfterMs]);
      platform.mood = "takes";
      await channels.send(message());
      expect(platform.taken).toHaveLength(1);
    });

    it("asks again later when the platform fails", async () => {
      platform.mood = "fails";
      expect((await failure(channels.send(message()))).retryable).toBe(true);
      expect((await channels.outbox({ limit: 5 })).messages).toEqual([]);
    });

    it("gives up what the platform refuses, with its reason", async () => {
      platform.mood = "refuses";
      const error = await failure(channels.send(message()));
      expect(error.retryable).toBe(false);
      expect(error.message).toContain(under.problem);
    });

    it("asks again later when there is no answer in time", async () => {
      configure({ timeoutSeconds: 0.3 });
      platform.mood = "is silent";
      expect((await failure(channels.send(message()))).retryable).toBe(true);
    });

    it("ends a try that is aborted", async () => {
      platform.mood = "is silent";
      const stop = new AbortController();
      const sending = channels.send(message(), { signal: stop.signal });
      await platform.waiting;
      stop.abort();
      await failure(sending);
      expect(platform.taken).toEqual([]);
    });

    it("asks again later when nothing listens", async () => {
      await platform[Symbol.asyncDispose]();
      try {
        expect((await failure(channels.send(message()))).retryable).toBe(true);
      } finally {
        ({ platform } = await under.open());
      }
    });
  });
}
