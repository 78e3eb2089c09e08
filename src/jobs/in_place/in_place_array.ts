import {
  ArrayChunks,
  parseArray,
  type ParsedArray,
  parsedArrayOf,
} from "../../arrays/mod.ts";
import { PartSizeError, sentence } from "../../errors/mod.ts";
import { ArrayKeys, pathIn, type Place, rootIn } from "../../hierarchy/mod.ts";
import { isSameJson, parseZarrJson } from "../../metadata/mod.ts";
import type { Part } from "../../splitter/mod.ts";
import type { StoreKey } from "../../stores/mod.ts";
import { checksOf } from "../chunk_checks.ts";
import { type ByteSpan, spansOf } from "../stored_chunks.ts";
import { bytesOf } from "./documents.ts";

/** How the files of a chunk change. */
interface FileChange {
  /** The files whose bytes get another key. */
  readonly renamed: readonly { from: StoreKey; to: StoreKey }[];
  /** The files that are written, with the bytes that they hold. */
  readonly written: readonly (ByteSpan & { to: StoreKey })[];
  /** The file of the unsized part, which is cut to a size, and gets bytes of other files at its end. */
  readonly data?: {
    readonly key: StoreKey;
    readonly size: number;
    readonly tail: ByteSpan;
  };
}

/** An array that is converted in place. */
export class InPlaceArray {
  readonly path: string;
  /** The prefix of the array's keys, without a last `/`. */
  readonly root: "" | StoreKey;
  readonly source: ArrayChunks;
  readonly target: ArrayChunks;
  readonly oldKeys: ArrayKeys;
  readonly newKeys: ArrayKeys;
  /** The number of bytes by which the file of the unsized part becomes longer; negative if it becomes shorter. */
  readonly growth: number;
  /** The length of the record before the index of an adopted file; 0 for other chunks. */
  readonly recordSize: number;
  /** For each new part, the old part that holds the same bytes or, of the unsized part, its first bytes. */
  readonly #sources: readonly number[];

  /**
   * @param before The document in the old layout.
   * @param after The document in the new layout.
   * @throws {RangeError} If the bytes of chunks would have to be moved.
   */
  constructor(place: Place, path: string, before: string, after: string) {
    const [old, now] = [before, after].map((text) =>
      parseArray(parseZarrJson(bytesOf(text)!))
    ) as [ParsedArray, ParsedArray];
    this.path = path;
    this.root = rootIn(place, path);
    this.source = new ArrayChunks(place.store, pathIn(place, path), old);
    this.target = new ArrayChunks(place.store, pathIn(place, path), now);
    this.oldKeys = new ArrayKeys(old, this.root);
    this.newKeys = new ArrayKeys(now, this.root);
    this.recordSize = checksOf(old).recordSize ?? 0;
    const match = matchParts(old.parts, now.parts);
    if (match === undefined) {
      const array = `/${path}`;
      throw new RangeError(
        sentence`Cannot convert array ${array} in place, since the part without a size would begin at another place of each chunk, so that all bytes would have to be moved; expected parts with the same sizes before that part, or a conversion to another place`,
      );
    }
    this.#sources = match.sources;
    this.growth = match.growth;
  }

  /** The old and the new keys of the objects of a chunk, in the order of the bytes. */
  keysOf(coordinates: readonly number[]): [StoreKey[], StoreKey[]] {
    return [this.source, this.target].map((chunks) => {
      const key = chunks.key(coordinates);
      return parsedArrayOf(chunks).parts.map(({ keySuffix }): StoreKey =>
        `${key}${keySuffix}`
      );
    }) as [StoreKey[], StoreKey[]];
  }

  /**
   * Returns how the files of a chunk change.
   *
   * @param size The length of the chunk in bytes.
   * @throws {PartSizeError} If the chunk is too short for the new parts.
   */
  changeOf(coordinates: readonly number[], size: number): FileChange {
    const [from, to] = this.keysOf(coordinates);
    const { parts } = parsedArrayOf(this.target);
    const needed = sumOf(parts);
    if (size < needed) {
      const key = this.source.key(coordinates);
      throw new PartSizeError(
        sentence`Chunk ${key} is ${size} bytes long, where the new parts take ${needed}`,
        { key, expected: needed, actual: size },
      );
    }
    const renamed: FileChange["renamed"][number][] = [];
    const written: FileChange["written"][number][] = [];
    let data: FileChange["data"];
    for (const [i, { offset, length }] of spansOf(parts, size).entries()) {
      const [old, now] = [from[this.#sources[i]!], to[i]!];
      if (old === undefined) {
        written.push({ to: now, offset, length });
        continue;
      }
      if (old !== now) renamed.push({ from: old, to: now });
      if (this.growth === 0 || parts[i]!.size !== undefined) continue;
      const added = Math.max(0, this.growth);
      const kept = length - added;
      const tail = { offset: offset + kept, length: added };
      data = { key: old, size: kept, tail };
    }
    return { renamed, written, ...data && { data } };
  }

  /**
   * Throws if a new key of a chunk is the key of another object in the old layout, or an old key
   * that of another object in the new layout, so that readers would read wrong objects, or a
   * key in one layout needs a folder where the other one has a file.
   *
   * @param others The files below the array that are no chunks.
   */
  assertNoCollision(
    coordinates: readonly number[],
    others: ReadonlySet<StoreKey>,
  ): void {
    const [from, to] = this.keysOf(coordinates);
    const oldKey = this.source.key(coordinates);
    const newKey = this.target.key(coordinates);
    const isFree =
      to.every((key, i) =>
        from.includes(key)
          ? from[this.#sources[i]!] === key
          : (this.oldKeys.chunkOf(key) ?? oldKey) === oldKey
      ) && from.every((key) =>
        (this.newKeys.chunkOf(key) ?? newKey) === newKey
      );
    if (!isFree) {
      throw new RangeError(
        sentence`Cannot convert chunk ${oldKey} in place, since its new key ${newKey} or those of its parts are keys of other objects in the present layout; convert twice, first to keys with another suffix, or to another place`,
      );
    }
    for (const key of to) {
      this.assertFolders(
        key,
        (folder) => others.has(folder) || this.oldKeys.isTaken(folder),
      );
    }
    for (const key of from) this.assertFolders(key);
  }

  /** Throws if a folder of a key is the key of a file: by default, of the new layout. */
  assertFolders(
    key: StoreKey,
    isFile = (folder: StoreKey) => this.newKeys.isTaken(folder),
  ): void {
    const folderOf = (key: string) => key.slice(0, key.lastIndexOf("/"));
    let folder = folderOf(key);
    for (; folder.length > this.root.length; folder = folderOf(folder)) {
      if (!isFile(folder as StoreKey)) continue;
      const array = `/${this.path}`;
      throw new RangeError(
        sentence`Cannot convert array ${array} in place: ${folder} would be both a file and the folder of ${key}; expected other keys, or a conversion to another place`,
      );
    }
  }
}

/** A length of chunks for which no two parts hold the same bytes by chance. */
const LONG = 2 ** 50;

/**
 * Finds the old parts that hold the bytes of the new ones. Both layouts must have their unsized
 * part at the same place of the chunk, so that its bytes may stay where they are in the file.
 *
 * @returns `undefined` if the bytes of chunks would have to be moved.
 */
function matchParts(
  before: readonly Part[],
  after: readonly Part[],
): { sources: number[]; growth: number } | undefined {
  const [sizes, newSizes] = [before, after].map((parts) =>
    parts.map(({ size }) => size ?? null)
  ) as [(number | null)[], (number | null)[]];
  if (isSameJson(sizes, newSizes)) {
    return { sources: after.map((_, i) => i), growth: 0 };
  }
  const [from, to] = [sizes.indexOf(null), newSizes.indexOf(null)];
  const areOnly = from >= 0 && from === sizes.lastIndexOf(null) && to >= 0 &&
    to === newSizes.lastIndexOf(null);
  const [old, now] = [spansOf(before, LONG), spansOf(after, LONG)];
  if (!areOnly || old[from]!.offset !== now[to]!.offset) return undefined;
  const sources: number[] = [];
  for (const [i, { offset, length }] of now.entries()) {
    const source = i === to
      ? from
      : old.findIndex((other, j) =>
        j !== from && !sources.includes(j) && other.offset === offset &&
        other.length === length
      );
    sources.push(source);
  }
  return { sources, growth: now[to]!.length - old[from]!.length };
}

function sumOf(parts: readonly Part[]): number {
  return parts.reduce((sum, { size = 0 }) => sum + size, 0);
}
