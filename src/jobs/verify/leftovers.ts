import { describe, sentence } from "../../errors/mod.ts";
import { isV2Document } from "../../metadata/mod.ts";
import type { StoreKey } from "../../stores/mod.ts";
import {
  type ArrayKeys,
  documentKey,
  MARKER,
  type Place,
} from "../../hierarchy/mod.ts";
import type { StoredChunks } from "../stored_chunks.ts";
import { type Finding, finding } from "./findings.ts";

/** An array of the listing. */
interface ListedArray {
  readonly path: string;
  readonly gridShape: readonly number[];
  readonly keys: ArrayKeys;
  readonly stored: StoredChunks;
}

/** A value with a key like that of a chunk, which may be missing under its own key. */
interface Candidate {
  readonly key: StoreKey;
  readonly array: ListedArray;
  readonly coordinates: readonly number[];
  /** Whether the key is that of a chunk, while chunks are stored in parts with other keys. */
  readonly isStray: boolean;
}

/** The values below one folder that no document describes. */
interface Unexplained {
  count: number;
  first: StoreKey;
  readonly reason: string;
}

/**
 * Takes the values of a listing that are no documents, chunks or parts, and adds a finding for
 * each value that may be damage or a leftover.
 */
export class Leftovers {
  readonly #place: Place;
  readonly #arrays: ReadonlyMap<string, ListedArray>;
  readonly #valid: ReadonlySet<string>;
  readonly #broken: ReadonlyMap<StoreKey, StoreKey>;
  readonly #add: (finding: Finding) => void;
  readonly #candidates: Candidate[] = [];
  readonly #unexplained = new Map<string, Unexplained>();

  /**
   * @param valid The paths of all nodes with valid documents.
   * @param broken The keys of the documents that are not valid, by those of `zarr.json`.
   * @param add Takes each finding.
   */
  constructor(
    place: Place,
    arrays: ReadonlyMap<string, ListedArray>,
    { valid, broken }: {
      valid: ReadonlySet<string>;
      broken: ReadonlyMap<StoreKey, StoreKey>;
    },
    add: (finding: Finding) => void,
  ) {
    this.#place = place;
    this.#arrays = arrays;
    this.#valid = valid;
    this.#broken = broken;
    this.#add = add;
  }

  /** Takes an object at the key of a chunk that is stored in other parts. */
  stray(key: StoreKey, path: string): void {
    const array = this.#arrays.get(path)!;
    const coordinates = array.keys.array
      .coordinatesOf(this.#relative(key, path))!;
    this.#candidates.push({ key, array, coordinates, isStray: true });
  }

  /**
   * Takes a value that is no document, chunk or part.
   *
   * @param path The path of the array that the value lies in.
   */
  file(key: StoreKey, path: string | undefined): void {
    if (key.endsWith(MARKER)) {
      const message =
        'A conversion is not finished: run it again, with the option "resume" unless it is one in place';
      this.#add(finding("conversion-unfinished", key, message));
    } else if (this.#isBesideBroken(key)) {
      // The document of the node is reported.
    } else if (this.#isBesideDocument(key)) {
      const message =
        sentence`${key} is Zarr v2 metadata beside a zarr.json: readers that take it get the fill value if the chunks were moved; expected no such metadata`;
      this.#add(finding("v2-metadata", key, message));
    } else if (path === undefined) this.#takeOutside(key);
    else this.#takeInside(key, this.#arrays.get(path)!);
  }

  /** Adds the findings that depend on the whole listing. */
  finish(): void {
    for (const candidate of this.#candidates) {
      const { key, array, coordinates } = candidate;
      this.#add(
        array.stored.has(coordinates) ? leftover(candidate) : finding(
          "chunk-misplaced",
          key,
          this.#misplaced(candidate),
          coordinates,
        ),
      );
    }
    for (const [, { count, first, reason }] of this.#unexplained) {
      const values = count === 2 ? "value" : "values";
      const more = count === 1 ? "is" : `and ${count - 1} more ${values} are`;
      this.#add(finding(
        "values-unexplained",
        first,
        `${describe(first)} ${more} not verified, since ${reason}`,
      ));
    }
  }

  #isBesideDocument(key: StoreKey): boolean {
    const { length } = this.#place.root;
    const path = key.slice(length, key.lastIndexOf("/")).slice(1);
    return isV2Document(key) && this.#isNode(path);
  }

  /** Whether a key is that of a document of Zarr v2 beside one that is not valid. */
  #isBesideBroken(key: StoreKey): boolean {
    const document = `${key.slice(0, key.lastIndexOf("/"))}/zarr.json`;
    const broken = this.#broken.get(document as StoreKey);
    return isV2Document(key) && broken !== undefined && broken !== document;
  }

  #takeInside(key: StoreKey, array: ListedArray): void {
    const { gridShape, keys } = array;
    if (keys.isOutsideGrid(key)) {
      const message =
        sentence`${key} is outside of the chunk grid, whose shape is ${gridShape}`;
      return this.#add(finding("chunk-outside-grid", key, message));
    }
    const relative = this.#relative(key, array.path);
    const coordinates = likeChunk(relative, gridShape);
    const candidate = coordinates &&
      { key, array, coordinates, isStray: false };
    if (candidate && !this.#isBesideChunk(relative, candidate)) {
      this.#candidates.push(candidate);
    } else this.#add(unknownFile(key));
  }

  /** Whether a name is that of a chunk with an addition, such as `c/0.tiff.aux.xml` where chunks have a suffix. */
  #isBesideChunk(
    relative: string,
    { array, coordinates }: Candidate,
  ): boolean {
    const own = array.keys.array.keys.encode(coordinates);
    return !/\d$/.test(own) && relative.startsWith(own);
  }

  #takeOutside(key: StoreKey): void {
    const { root } = this.#place;
    const path = this.#nodeOf(key);
    if (path !== undefined && this.#isBroken(path)) {
      const document = describe(
        this.#broken.get(documentKey(this.#place, path)),
      );
      return this.#count(path, key, `the document ${document} is not valid`);
    }
    const relative = key.slice(root.length);
    const [, folder] =
      /^(.*)\/c(?:[/.](?:0|[1-9]\d*))+(?:\.[^/]*)?$/.exec(relative) ?? [];
    if (folder === undefined) return;
    const document = describe(`${root}${folder}/zarr.json`);
    const isGroup = this.#valid.has(folder.slice(1));
    const reason = `the keys are those of chunks, and ${
      isGroup
        ? `${document} is the document of a group`
        : `there is no ${document}`
    }`;
    this.#count(folder.slice(1), key, reason);
  }

  #count(path: string, key: StoreKey, reason: string): void {
    const found = this.#unexplained.get(path);
    if (found === undefined) {
      this.#unexplained.set(path, { count: 1, first: key, reason });
    } else {
      found.count++;
      if (key < found.first) found.first = key;
    }
  }

  /** The path of the innermost node around a key; `undefined` if there is none. */
  #nodeOf(key: StoreKey): string | undefined {
    let path = key.slice(this.#place.root.length + 1);
    while (path !== "") {
      path = path.slice(0, Math.max(0, path.lastIndexOf("/")));
      if (this.#isNode(path)) return path;
    }
    return undefined;
  }

  /** Whether a node has a document, valid or not. */
  #isNode(path: string): boolean {
    return this.#valid.has(path) || this.#isBroken(path);
  }

  #isBroken(path: string): boolean {
    return this.#broken.has(documentKey(this.#place, path));
  }

  #relative(key: StoreKey, path: string): string {
    const { length } = documentKey(this.#place, path);
    return key.slice(length - "zarr.json".length);
  }

  #misplaced({ key, array, coordinates, isStray }: Candidate): string {
    const chunk = sentence`chunk ${coordinates}`;
    const own = documentKey(this.#place, array.path)
      .replace(/zarr\.json$/, () => array.keys.array.keys.encode(coordinates));
    return isStray
      ? `${
        describe(key)
      } is the key of ${chunk}, which is stored in parts with other keys and is absent, so that readers get the fill value`
      : `${describe(key)} has a name like ${chunk}, which is absent at ${
        describe(own)
      }, so that readers get the fill value: expected that key, or another chunk_key_encoding`;
  }
}

function leftover({ key, isStray }: Candidate): Finding {
  return isStray
    ? finding(
      "stray-object",
      key,
      sentence`${key} is the key of a chunk, and chunks are stored in parts with other keys`,
    )
    : unknownFile(key);
}

function unknownFile(key: StoreKey): Finding {
  return finding("unknown-file", key, sentence`${key} belongs to no chunk`);
}

/** The coordinates in a name such as those of the chunk key encodings `default`, `v2` and `suffix`. */
function likeChunk(
  name: string,
  gridShape: readonly number[],
): number[] | undefined {
  if (gridShape.length === 0) {
    return /^(?:c|0)(?:\.[^/]*)?$/.test(name) ? [] : undefined;
  }
  const [, numbers] =
    /^(?:c[/.])?((?:0|[1-9]\d*)(?:[/.](?:0|[1-9]\d*))*)(?:\.[^/]*)?$/
      .exec(name) ?? [];
  const coordinates = numbers?.split(/[/.]/).map(Number);
  const isInGrid = coordinates?.length === gridShape.length &&
    coordinates.every((coordinate, i) => coordinate < gridShape[i]!);
  return isInGrid ? coordinates : undefined;
}
