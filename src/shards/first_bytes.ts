import { isDamage } from "./is_damage.ts";
import { firstRun, liesIn } from "./other_bytes.ts";
import { decodeShardIndex, shardIndexSize } from "./shard_index.ts";
import type { ShardLayout } from "./shard_layout.ts";

/** Finds out, from the pieces of a new shard, whether it begins with bytes of another file format. */
export class FirstBytes {
  readonly #layout: ShardLayout;
  readonly #headSize: number;
  /** The first or the last bytes of the pieces, where the index is. */
  readonly #index: Uint8Array;
  #size = 0;
  /** The offset of the first byte other than 0 behind head parts and index. */
  #firstByte = Infinity;

  /** @param headSize The number of bytes of the head parts. */
  constructor(layout: ShardLayout, headSize: number) {
    this.#layout = layout;
    this.#headSize = headSize;
    this.#index = new Uint8Array(shardIndexSize(layout));
  }

  /** Adds the next bytes of the shard. */
  add(piece: Uint8Array): void {
    const index = this.#index;
    const isAtStart = this.#layout.indexLocation === "start";
    if (this.#firstByte === Infinity) {
      const start = Math.max(this.#headSize, isAtStart ? index.length : 0);
      const skipped = Math.max(0, start - this.#size);
      const at = piece.subarray(skipped).findIndex((byte) => byte !== 0);
      if (at >= 0) this.#firstByte = this.#size + skipped + at;
    }
    if (isAtStart) {
      const room = Math.max(0, index.length - this.#size);
      if (room > 0) index.set(piece.subarray(0, room), this.#size);
    } else {
      const last = piece.subarray(-index.length);
      index.copyWithin(0, last.length);
      index.set(last, index.length - last.length);
    }
    this.#size += piece.length;
  }

  /** Whether the bytes so far are a shard that begins with bytes of another file format. */
  areOthers(): boolean {
    const layout = this.#layout;
    try {
      const index = decodeShardIndex(this.#index, layout);
      if (!liesIn(index, layout, this.#size)) return false;
      const run = firstRun(index, layout, this.#size, this.#headSize);
      return this.#firstByte < run.offset + run.length;
    } catch (error) {
      if (isDamage(error)) return false;
      throw error;
    }
  }
}
