import { describe, MetadataError } from "../errors/mod.ts";
import { type Part, storingOrder } from "../splitter/mod.ts";
import { KeyLocks, type Store, type StoreKey } from "../stores/mod.ts";

/** The parts of a chunk as values of the store. A part that is stored in parts is replaced by its parts. */
export interface FlatParts {
  /** The parts in the order in which they make up the chunk. */
  readonly parts: readonly Part[];
  /**
   * The parts in the order in which they are stored. While the last part is present, all
   * parts belong to the same write.
   */
  readonly storingOrder: readonly Part[];
  /**
   * The sizes that `parts` cannot express: a part has a size, and of the parts in which it
   * is stored, several have no size, or the sizes do not add up to that of the part.
   */
  readonly sums: readonly PartSum[];
}

/** The size of neighbouring parts together. */
interface PartSum {
  /** The start of the key suffixes of all these parts. */
  readonly keySuffix: string;
  readonly size: number;
  readonly parts: readonly Part[];
}

/** Returns the flat form of parts that are not stored in parts themselves. */
export function unstacked(parts: readonly Part[]): FlatParts {
  return { parts, storingOrder: storingOrder(parts), sums: [] };
}

/**
 * Returns the flat form of the parts of stacked transformers.
 *
 * @param layers The parts of each transformer. They are chunks of the next one.
 */
export function flattenLayers(layers: readonly (readonly Part[])[]): FlatParts {
  const [first = ONE_OBJECT, ...others] = layers.map(unstacked);
  return others.reduce(
    (outer, inner) => flattenParts(outer, () => inner),
    first,
  );
}

/** A chunk that is one object under the key of the chunk. */
export const ONE_OBJECT: FlatParts = /* @__PURE__ */ unstacked([{
  keySuffix: "",
}]);

/**
 * Replaces each part by the parts in which it is stored. If one of these has no size, it is
 * given the size that the others leave.
 *
 * @param outer The parts of a chunk.
 * @param innerOf Returns the parts in which a part is stored.
 */
export function flattenParts(
  outer: FlatParts,
  innerOf: (part: Part) => FlatParts,
): FlatParts {
  const replaced = new Map<Part, FlatParts>(
    outer.parts.map((part) => [part, inside(part, innerOf(part))]),
  );
  const leavesOf = (parts: readonly Part[]) =>
    parts.flatMap((part) => replaced.get(part)!.parts);
  const sums = [
    ...outer.sums.map((sum) => ({ ...sum, parts: leavesOf(sum.parts) })),
    ...outer.parts.flatMap((part) => replaced.get(part)!.sums),
  ];
  return {
    parts: leavesOf(outer.parts),
    storingOrder: outer.storingOrder.flatMap((part) =>
      replaced.get(part)!.storingOrder
    ),
    sums: sums.filter((sum) => !resolveSizes(sum)),
  };
}

/** Returns copies of the inner parts of a part, with the suffix and the size of that part. */
function inside(part: Part, inner: FlatParts): FlatParts {
  const copies = new Map<Part, Part>(
    inner.parts.map((each) => [
      each,
      { ...each, keySuffix: part.keySuffix + each.keySuffix },
    ]),
  );
  const copiesOf = (parts: readonly Part[]) =>
    parts.map((each) => copies.get(each)!);
  const { keySuffix, size } = part;
  const parts = copiesOf(inner.parts);
  return {
    parts,
    storingOrder: copiesOf(inner.storingOrder),
    sums: [
      ...inner.sums.map((sum) => ({
        keySuffix: keySuffix + sum.keySuffix,
        size: sum.size,
        parts: copiesOf(sum.parts),
      })),
      ...size === undefined ? [] : [{ keySuffix, size, parts }],
    ],
  };
}

/**
 * Gives the only part without a size the size that the others leave. Returns whether the
 * sizes of the parts now add up to that of the sum. If the sizes are too large, the sum is
 * kept, so that every chunk is refused.
 */
function resolveSizes({ size, parts }: PartSum): boolean {
  const unsized: { size?: number | undefined }[] = parts.filter((part) =>
    part.size === undefined
  );
  const rest = parts.reduce((rest, part) => rest - (part.size ?? 0), size);
  if (unsized.length === 0) return rest === 0;
  if (unsized.length > 1) return false;
  unsized[0]!.size = Math.max(0, rest);
  return rest >= 0;
}

/**
 * Returns the parts of a chunk as values of the store: a part that a further storage
 * transformer divides is replaced by its parts.
 *
 * @param transformers The parts of each storage transformer, the first nearest to the
 * array; `undefined` for a transformer that is skipped.
 * @throws {MetadataError} If a part with a size is divided into parts whose sizes are not
 * known one by one, or do not add up to its size.
 */
export function flatParts(
  transformers: readonly (readonly Part[] | undefined)[],
): readonly Part[] {
  let flat: Part[] = [{ keySuffix: "" }];
  transformers.forEach((parts, i) => {
    if (parts === undefined) return;
    flat = flat.flatMap((part) =>
      dividedParts(part, parts, `/${i}/configuration/parts`)
    );
  });
  return flat;
}

/** Returns the parts of a part. One without a size gets the size that the others leave. */
function dividedParts(
  { keySuffix, size }: Part,
  parts: readonly Part[],
  path: string,
): Part[] {
  const divided = parts.map((part) => ({
    ...part,
    keySuffix: keySuffix + part.keySuffix,
  }));
  if (size === undefined) return divided;
  const unsized = divided.filter((part) => part.size === undefined);
  const rest = parts.reduce((rest, { size = 0 }) => rest - size, size);
  if (unsized.length === 1 && rest >= 0) unsized[0]!.size = rest;
  else if (unsized.length > 0 || rest !== 0) {
    throw new MetadataError(
      `Expected parts whose sizes follow from that of part ${
        describe(keySuffix)
      }, ${size} bytes, found ${
        describe(parts.map(({ size }) => size ?? "no size"))
      }`,
      path,
    );
  }
  return divided;
}

/** The store below a composed store, and the parts of its chunks. */
export interface AppliedParts {
  /**
   * The parts of a chunk, the parts of each part, and so on. The last layer consists of
   * values of the store below.
   */
  readonly layers: readonly (readonly Part[])[];
  readonly below: Store;
  /** Returns whether a key is a chunk key. */
  readonly isChunkKey: (key: StoreKey) => boolean;
}

const appliedTo = new WeakMap<Store, AppliedParts>();

/** Returns the parts of which a store is composed, or `undefined` if it is not a composed store. */
export function appliedParts(store: Store): AppliedParts | undefined {
  return appliedTo.get(store);
}

/** Notes the parts of which a store is composed, and gives it the locks of the store that holds its values. */
export function noteAppliedParts(composed: Store, applied: AppliedParts): void {
  appliedTo.set(composed, applied);
  KeyLocks.of(baseOf(applied.below)).passOnTo(composed);
}

/** Returns the store that holds the values of a store, which may be composed several times. */
export function baseOf(store: Store): Store {
  const applied = appliedTo.get(store);
  return applied === undefined ? store : baseOf(applied.below);
}
