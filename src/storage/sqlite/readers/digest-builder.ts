import type { DatabaseSync } from "node:sqlite";
import { RUNS_PER_DELIVERY } from "../codes.ts";
import { rowQuery, type RowOf, type RowQuery, type RowShape } from "../engine/row-query.ts";
import { shareCore } from "../engine/share-core.ts";
import { restoreSpec, textOf } from "../stored-spec.ts";
import { BLOCK, DigestBits, FULL_DIGEST } from "./delivery-digest.ts";

/** Blocks that one step digests, and those that it looks at for that. */
const DIGESTED_AT_ONCE = 4;
const LOOKED_AT_ONCE = 1_000;
/** Bytes of a block beyond which its texts are not read. */
const MAX_BLOCK_BYTES = 8 * 1024 * 1024;

/** A digest as it is stored: the block, the earliest and the latest receipt in it, its bits. */
export type StoredDigest = readonly [block: number, earliest: number, latest: number, bits: Uint8Array];

export interface DigestStep {
  readonly digests: readonly StoredDigest[];
  /** The block where the next step begins. */
  readonly next: number;
  /** True when every full block was looked at. */
  readonly isLast: boolean;
}

const BLOCK_ROW = { bytes: "integer", earliest: "integer?", latest: "integer?" } as const satisfies RowShape;
const DELIVERY_TEXTS = {
  seq: "integer",
  route: "text",
  mapping_id: "text?",
  name: "text",
  event: "text?",
  sender: "text?",
  level: "integer?",
  reason: "text?",
} as const satisfies RowShape;
const RUN_TEXTS = { reason: "text?", spec: "text?", text: "text?" } as const satisfies RowShape;

/**
 * Makes the digests of full blocks: those of which all numbers were given out. A run that gets a reason later takes the
 * digest of its block away (see `digestOperations`). What retention removes leaves bits behind that tell too much,
 * which does no harm.
 */
export class DigestBuilder {
  readonly #nextSeq: RowQuery<{ readonly seq: number | null }>;
  readonly #lastSeq: RowQuery<{ readonly seq: number | null }>;
  readonly #isDigested: RowQuery<{ readonly block: number }>;
  readonly #block: RowQuery<RowOf<typeof BLOCK_ROW>>;
  readonly #deliveries: RowQuery<RowOf<typeof DELIVERY_TEXTS>>;
  readonly #runs: RowQuery<RowOf<typeof RUN_TEXTS>>;

  constructor(reader: DatabaseSync) {
    const seq = { seq: "integer?" } as const;
    this.#nextSeq = rowQuery(reader, seq, "SELECT min(seq) AS seq FROM deliveries WHERE seq >= ?");
    this.#lastSeq = rowQuery(reader, seq, "SELECT max(seq) AS seq FROM deliveries");
    this.#isDigested = rowQuery(reader, { block: "integer" }, "SELECT block FROM digests WHERE block = ?");
    const inBlock = "seq >= ? AND seq < ?";
    this.#block = rowQuery(
      reader,
      BLOCK_ROW,
      `SELECT coalesce(sum(bytes), 0) AS bytes, min(received_at) AS earliest, max(received_at) AS latest
      FROM deliveries WHERE ${inBlock}`,
    );
    this.#deliveries = rowQuery(
      reader,
      DELIVERY_TEXTS,
      `SELECT ${Object.keys(DELIVERY_TEXTS).join(", ")} FROM deliveries WHERE ${inBlock} ORDER BY seq`,
    );
    this.#runs = rowQuery(
      reader,
      RUN_TEXTS,
      `SELECT runs.reason, spec, text FROM whole_contents LEFT JOIN runs USING (id) WHERE id >= ? AND id < ? ORDER BY id`,
    );
  }

  /** The digests that are missing from a block on, a few of them. */
  step(from: number): DigestStep {
    const digests: StoredDigest[] = [];
    const end = Math.floor((this.#lastSeq.get()?.seq ?? 0) / BLOCK);
    let block = from;
    for (let looked = 0; looked < LOOKED_AT_ONCE && digests.length < DIGESTED_AT_ONCE; looked++) {
      const seq = this.#nextSeq.get(block * BLOCK)?.seq ?? null;
      block = Math.floor((seq ?? Infinity) / BLOCK);
      // Numbers are given out in order: below the last one, none is still to come.
      if (block >= end) return { digests, next: end, isLast: true };
      if (this.#isDigested.get(block) === undefined) digests.push(this.#digest(block));
      block++;
    }
    return { digests, next: block, isLast: false };
  }

  #digest(block: number): StoredDigest {
    const [from, to] = [block * BLOCK, (block + 1) * BLOCK];
    const { bytes, earliest, latest } = this.#block.get(from, to)!;
    const times = [earliest ?? 0, latest ?? 0] as const;
    if (bytes > MAX_BLOCK_BYTES) return [block, ...times, FULL_DIGEST];
    const bits = new DigestBits();
    for (const { route, mapping_id, name, event, sender, level, reason } of this.#deliveries.iterate(from, to)) {
      // Retention gives a delivery the name of its mapping or its route.
      bits.add({ route, actor: sender, level, texts: [name, mapping_id, route, event, reason] });
    }
    for (const { reason, spec, text } of this.#runs.iterate(from * RUNS_PER_DELIVERY, to * RUNS_PER_DELIVERY)) {
      shareCore();
      bits.addTexts(reason, text ?? (spec === null ? null : textOf(restoreSpec({ json: spec, text }))));
    }
    return [block, ...times, bits.finish()];
  }
}
