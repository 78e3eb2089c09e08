import { parsedArrayOf } from "../../arrays/mod.ts";
import { describe, PartSizeError } from "../../errors/mod.ts";
import { isSameJson } from "../../metadata/mod.ts";
import type { Part } from "../../splitter/mod.ts";
import type { StoreKey } from "../../stores/mod.ts";
import { checksOf } from "../chunk_checks.ts";
import type { PlannedArray } from "../convert/convert_plan.ts";
import { ArrayKeys } from "../../hierarchy/mod.ts";

/** The files of a chunk, before and after its conversion in place. */
export interface ChunkFiles {
  /** The files that get another name. */
  readonly renamed: readonly { from: StoreKey; to: StoreKey }[];
  /** The files that are written anew, with the range of the chunk that they hold. */
  readonly written: readonly { to: StoreKey; offset: number; length: number }[];
  /** The file of the unsized part, and its lengths, if they differ. */
  readonly data:
    | {
      from: StoreKey;
      to: StoreKey;
      /** The place of the unsized part in the chunk. */
      offset: number;
      oldSize: number;
      newSize: number;
    }
    | undefined;
  /** The keys that the new layout does not have. */
  readonly removed: readonly StoreKey[];
}

/** An array that is converted in place. */
export class InPlaceArray {
  readonly planned: PlannedArray;
  /** The bytes by which the file of the unsized part becomes longer. */
  readonly growth: number;
  /** The length of the record before the index of an adopted file; 0 for other chunks. */
  readonly recordSize: number;
  readonly oldKeys: ArrayKeys;
  readonly newKeys: ArrayKeys;
  readonly #match: PartMatch;
  readonly #root: string;
  /** The new and the old folder of the chunk that was checked last, which often is that of the next one. */
  #folders = ["", ""];

  /**
   * @param root The prefix of the array's keys, without a last `/`.
   * @throws {RangeError} If the bytes of chunks would have to be moved.
   */
  constructor(planned: PlannedArray, root: string) {
    this.planned = planned;
    this.#root = root;
    const source = parsedArrayOf(planned.source);
    const target = parsedArrayOf(planned.target);
    this.oldKeys = new ArrayKeys(source, root);
    this.newKeys = new ArrayKeys(target, root);
    const match = matchParts(source.parts, target.parts);
    if (match === undefined) {
      throw new RangeError(
        `Cannot convert array ${
          describe(`/${planned.path}`)
        } in place, since the part without a size would begin at another place of each chunk, so that all bytes would have to be moved; expected parts with the same sizes before that part, or a conversion to another place`,
      );
    }
    this.#match = match;
    this.growth = match.growth;
    this.recordSize = checksOf(source).recordSize ?? 0;
  }

  /** The rank of the array. */
  get rank(): number {
    return this.planned.source.gridShape.length;
  }

  /**
   * The files of a chunk.
   *
   * @param size The length of the chunk in bytes.
   * @throws {PartSizeError} If the chunk is too short for the new parts.
   */
  filesOf(coordinates: readonly number[], size: number): ChunkFiles {
    const { after, same, data, growth } = this.#match;
    const [from, to] = this.keysOf(coordinates);
    const needed = after.reduce((sum, { size = 0 }) => sum + size, 0);
    if (size < needed) {
      const key = this.planned.source.key(coordinates);
      throw new PartSizeError(
        `Chunk ${
          describe(key)
        } is ${size} bytes long, where the new parts take ${needed}`,
        { key, expected: needed, actual: size },
      );
    }
    let offset = 0;
    const offsets = after.map((part) => {
      const start = offset;
      offset += part.size ?? size - needed;
      return start;
    });
    const dataSize = size - needed;
    return {
      renamed: to.flatMap((key, i) => {
        const old = from[same[i] ?? -1];
        return old === undefined || old === key ? [] : [{ from: old, to: key }];
      }),
      written: to.flatMap((key, i) =>
        same[i] !== undefined || data?.to === i
          ? []
          : [{ to: key, offset: offsets[i]!, length: after[i]!.size! }]
      ),
      data: data && {
        from: from[data.from]!,
        to: to[data.to]!,
        offset: offsets[data.to]!,
        oldSize: dataSize - growth,
        newSize: dataSize,
      },
      removed: from.filter((key, i) => !to.includes(key) && i !== data?.from),
    };
  }

  /**
   * Throws if a new key of a chunk is the key of another object in the old layout, or an old key
   * that of another object in the new layout, so that readers would read wrong objects.
   */
  assertNoCollision(coordinates: readonly number[]): void {
    const { same, data } = this.#match;
    const [from, to] = this.keysOf(coordinates);
    const { source, target } = this.planned;
    const [oldKey, newKey] = [source.key(coordinates), target.key(coordinates)];
    const isFree = to.every((key, i) => {
      const j = from.indexOf(key);
      if (j >= 0) return same[i] === j || data?.from === j && data.to === i;
      return (this.oldKeys.chunkOf(key) ?? oldKey) === oldKey;
    }) && from.every((key) => (this.newKeys.chunkOf(key) ?? newKey) === newKey);
    if (isFree) return;
    throw new RangeError(
      `Cannot convert chunk ${describe(oldKey)} in place, since its new key ${
        describe(newKey)
      } or those of its parts are keys of other objects in the present layout; convert twice, first to keys with another suffix, or to another place`,
    );
  }

  /**
   * Throws if a key of a chunk in one layout needs a folder where the other layout has a file,
   * since the files of both layouts exist at the same time.
   *
   * @param others The files below the array that are no chunks.
   */
  assertNoFolderClash(
    coordinates: readonly number[],
    others: ReadonlySet<StoreKey>,
  ): void {
    const [from, to] = this.keysOf(coordinates);
    const isFile = (key: StoreKey) =>
      others.has(key) || this.oldKeys.isTaken(key);
    const isNew = (key: StoreKey) => this.newKeys.isTaken(key);
    for (const [i, keys] of [to, from].entries()) {
      for (const key of keys) {
        const folder = key.slice(0, key.lastIndexOf("/"));
        if (folder === this.#folders[i]) continue;
        this.assertFolders(key, i === 0 ? isFile : isNew);
        this.#folders[i] = folder;
      }
    }
  }

  /** Throws if a folder of a key is the key of a file. */
  assertFolders(key: StoreKey, isFile: (key: StoreKey) => boolean): void {
    for (
      let folder = key.slice(0, key.lastIndexOf("/"));
      folder.length > this.#root.length;
      folder = folder.slice(0, folder.lastIndexOf("/"))
    ) {
      if (!isFile(folder as StoreKey)) continue;
      throw new RangeError(
        `Cannot convert array ${describe(`/${this.planned.path}`)} in place: ${
          describe(folder)
        } would be both a file and the folder of ${
          describe(key)
        }; expected other keys, or a conversion to another place`,
      );
    }
  }

  /** The sizes of the files of each chunk in the old layout, in the order of the bytes. */
  get oldSizes(): readonly (number | undefined)[] {
    return this.#match.before.map(({ size }) => size);
  }

  /** The index of the new file that an old one becomes; -1 if it becomes none. */
  renamedTo(old: number): number {
    return this.#match.same.indexOf(old);
  }

  /** The old and the new keys of the objects of a chunk, in the order of the bytes. */
  keysOf(coordinates: readonly number[]): [StoreKey[], StoreKey[]] {
    const { before, after } = this.#match;
    const { source, target } = this.planned;
    const [old, now] = [source.key(coordinates), target.key(coordinates)];
    return [
      before.map(({ keySuffix }): StoreKey => `${old}${keySuffix}`),
      after.map(({ keySuffix }): StoreKey => `${now}${keySuffix}`),
    ];
  }
}

/** How the parts of one layout become those of another one. */
interface PartMatch {
  /** The parts as objects of the store, before and after. */
  readonly before: readonly Part[];
  readonly after: readonly Part[];
  /** For each new part, the old part with the same bytes, if there is one. */
  readonly same: readonly (number | undefined)[];
  /** The old and the new unsized part, if their lengths differ. */
  readonly data: { readonly from: number; readonly to: number } | undefined;
  /** The number of bytes by which the unsized part becomes longer; negative if it becomes shorter. */
  readonly growth: number;
}

/**
 * Matches the parts of two layouts. Both must have their unsized part at the same place of
 * the chunk, so that its bytes may stay where they are in the file.
 *
 * @returns The match; `undefined` if the bytes of chunks would have to be moved.
 */
function matchParts(
  before: readonly Part[],
  after: readonly Part[],
): PartMatch | undefined {
  if (isSameJson(sizesOf(before), sizesOf(after))) {
    const same = after.map((_, i) => i);
    return { before, after, same, data: undefined, growth: 0 };
  }
  const [old, now] = [placesOf(before), placesOf(after)];
  if (old === undefined || now === undefined) return undefined;
  if (old.head !== now.head) return undefined;
  const growth = old.tail - now.tail;
  const same = now.places.map((place) => {
    const i = old.places.indexOf(place);
    return i < 0 || place === DATA && growth !== 0 ? undefined : i;
  });
  const data = growth === 0
    ? undefined
    : { from: old.places.indexOf(DATA), to: now.places.indexOf(DATA) };
  return { before, after, same, data, growth };
}

/** The place of the unsized part. */
const DATA = "data";

/**
 * The places of parts in a chunk as texts. Parts of two layouts with the same text hold the
 * same bytes of a chunk; of unsized parts, only the first bytes.
 */
function placesOf(
  parts: readonly Part[],
): { places: string[]; head: number; tail: number } | undefined {
  const unsized = parts.findIndex(({ size }) => size === undefined);
  const others = parts.filter(({ size }) => size !== undefined);
  if (unsized < 0 || others.length !== parts.length - 1) return undefined;
  const sizes = parts.map(({ size }) => size ?? 0);
  const [head, tail] = [sizes.slice(0, unsized), sizes.slice(unsized)].map(sum);
  const places = sizes.map((size, i) => {
    if (i === unsized) return DATA;
    const [side, others] = i < unsized
      ? ["start", sizes.slice(0, i)]
      : ["end", sizes.slice(i + 1)];
    // The number of parts tells empty parts apart.
    return `${size} bytes, ${sum(others)} in ${others.length} to the ${side}`;
  });
  return { places, head: head!, tail: tail! };
}

function sizesOf(parts: readonly Part[]): (number | null)[] {
  return parts.map(({ size }) => size ?? null);
}

function sum(sizes: readonly number[]): number {
  return sizes.reduce((total, size) => total + size, 0);
}
