import type { ChunkVersion } from "../concat_parts/chunk_version.ts";
import {
  findChunkVersion,
  versionedChunk,
} from "../concat_parts/find_chunk_version.ts";
import { resolveByteRange } from "../stores/byte_range.ts";
import type { ByteRange, Store, StoreKey } from "../stores/store.ts";
import type { Place } from "../views/translation.ts";
import { BoundedCache } from "./bounded_cache.ts";
import type { Deadline } from "./deadline.ts";
import { SHORT } from "./short_body.ts";
import { unversionedValue } from "./unversioned_value.ts";
import { type Validators, validatorsOf } from "./validators.ts";
import { lengthOf, type Pieces, type Value, WINDOW } from "./value.ts";
import { joinedStream, windowStream } from "./window_stream.ts";

/** The bytes that a request is likely to need: a range, or all; none by default. */
export type Ask = ByteRange | "all" | undefined;

/** A version that is kept, and the place that it belongs to. */
interface KeptVersion {
  readonly store: Store;
  readonly key: StoreKey;
  readonly version: ChunkVersion;
  readonly validators: Validators;
}

/** Looks up values at their places in a store, and keeps the versions of chunks. */
export class ChunkValues {
  readonly #kept: BoundedCache<KeptVersion>;

  /** @param options The lifetime of versions in milliseconds, and the most of them. */
  constructor(options: { lifetime: number; limit: number }) {
    this.#kept = new BoundedCache(options);
  }

  /**
   * Looks up a value: in memory, or by as many requests as it has parts. Bytes that are
   * asked for are read by the same requests, where that is possible.
   *
   * @param shown The key that the value is shown under.
   */
  async find(
    shown: StoreKey,
    place: Place,
    ask: Ask,
    deadline: Deadline,
  ): Promise<Value | undefined> {
    const { store, key } = place;
    const kept = this.#kept.get(shown);
    if (kept?.store === store && kept.key === key) {
      return valueOf(kept.version, kept.validators);
    }
    const chunk = versionedChunk(store, key, { signal: deadline.signal });
    if (chunk === undefined) return await unversionedValue(place, deadline);
    const { range, toEnd } = firstWindow(ask);
    const found = await deadline.run(() =>
      findChunkVersion(chunk, range, toEnd)
    );
    if (found === undefined) return undefined;
    if (found === "unknown") return await unversionedValue(place, deadline);
    const { version, pieces } = found;
    const validators = validatorsOf(version.tag, version.modified);
    if (version.isLasting && version.tag !== undefined) {
      this.#kept.set(shown, { store, key, version, validators });
    }
    const start = range ? resolveByteRange(range, version.size).start : 0;
    return valueOf(version, validators, { start, pieces });
  }

  /** Drops the version of a value that has changed. */
  forget(shown: StoreKey): void {
    this.#kept.delete(shown);
  }
}

/**
 * Returns a version of a chunk as a value.
 *
 * @param latest Bytes that were read with the version, and the first of them;
 * `undefined` for a version that was kept.
 */
function valueOf(
  version: ChunkVersion,
  validators: Validators,
  latest?: { start: number; pieces: Pieces | undefined },
): Value {
  const read = (start: number, end: number, deadline: Deadline) =>
    deadline.run((options) => version.getRange(start, end, options));
  let isStreaming = false;
  const done = (deadline: Deadline) => {
    deadline.close();
    version.release();
  };
  return {
    size: version.size,
    validators,
    isCurrent: async (deadline) =>
      latest !== undefined ||
      await deadline.run((options) => version.isCurrent(options)),
    readNow: (start, memory) => version.readNow(start, memory),
    open: async (start, end, deadline) => {
      const windowEnd = Math.min(start + WINDOW, end);
      const isRead = latest?.start === start &&
        latest.pieces !== undefined &&
        lengthOf(latest.pieces) === windowEnd - start;
      if (version.hasStreams && end - start > SHORT && !isRead) {
        const pieces = await deadline.run((options) =>
          version.open(start, end, options)
        );
        if (pieces === undefined) return undefined;
        isStreaming = true;
        return joinedStream(
          pieces,
          end - start,
          deadline,
          () => done(deadline),
        );
      }
      const first = isRead
        ? latest.pieces
        : await read(start, windowEnd, deadline);
      if (first === undefined || end === windowEnd) return first;
      isStreaming = true;
      return windowStream(
        first,
        start,
        end,
        (start, end) => read(start, end, deadline),
        deadline,
        () => done(deadline),
      );
    },
    release() {
      if (!isStreaming) version.release();
    },
  };
}

/** Returns the bytes that are read with the version: at most a window. */
function firstWindow(
  ask: Ask,
): { range: ByteRange | undefined; toEnd: boolean } {
  const range = ask === "all" ? { offset: 0, length: WINDOW } : ask;
  if (range === undefined || "suffixLength" in range) {
    const isShort = range !== undefined && range.suffixLength <= WINDOW;
    return { range: isShort ? range : undefined, toEnd: false };
  }
  const { offset, length } = range;
  return {
    range: { offset, length: Math.min(length, WINDOW) },
    toEnd: ask === "all",
  };
}
