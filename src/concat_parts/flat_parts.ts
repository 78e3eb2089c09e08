import { type Part, storingOrder } from "../splitter/mod.ts";
import { KeyLocks, type Store, type StoreKey } from "../stores/mod.ts";

/** The parts of a chunk as values of the store. A part that is stored in parts is replaced by these. */
export interface FlatParts {
  /** The parts in the order in which they make up the chunk. */
  readonly parts: readonly Part[];
  /**
   * The parts in the order in which they are stored. While the last part is present, all
   * parts belong to the same write.
   */
  readonly storingOrder: readonly Part[];
  /**
   * The sums of sizes that `parts` cannot express: a part has a size, and of the parts that
   * it is stored in, several have none, or their sizes do not add up to it.
   */
  readonly sums: readonly PartSum[];
}

/** The size of neighbouring parts together. */
export interface PartSum {
  /** The start of the key suffixes of all these parts. */
  readonly keySuffix: string;
  readonly size: number;
  readonly parts: readonly Part[];
}

/** Returns the flat form of parts that are values of the store. */
export function flatParts(parts: readonly Part[]): FlatParts {
  return { parts, storingOrder: storingOrder(parts), sums: [] };
}

/**
 * Returns the objects of a chunk with stacked transformers.
 *
 * @param layers The parts of each transformer, which are chunks of the next one.
 */
export function flattenLayers(layers: readonly (readonly Part[])[]): FlatParts {
  const [first = ONE_OBJECT, ...others] = layers.map(flatParts);
  return others.reduce(
    (outer, inner) => flattenParts(outer, () => inner),
    first,
  );
}

/** A chunk that is one object under the key of the chunk. */
export const ONE_OBJECT: FlatParts = /* @__PURE__ */ flatParts([{
  keySuffix: "",
}]);

/**
 * Replaces each part by the parts that it is stored in. The only one of these without
 * a size is given the size that the others leave.
 *
 * @param outer The parts of a chunk.
 * @param innerOf Returns the parts that a part is stored in.
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
    sums: sums.filter((sum) => !resolve(sum)),
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
 * sizes of the parts now add up to that of the sum. Parts whose sizes are too large leave
 * the sum as it is, so that every chunk is refused.
 */
function resolve({ size, parts }: PartSum): boolean {
  const unsized: { size?: number | undefined }[] = parts.filter((part) =>
    part.size === undefined
  );
  const rest = parts.reduce((rest, part) => rest - (part.size ?? 0), size);
  if (unsized.length === 0) return rest === 0;
  if (unsized.length > 1) return false;
  unsized[0]!.size = Math.max(0, rest);
  return rest >= 0;
}

/** The store below a composed store, and the parts of its chunks. */
export interface AppliedParts {
  /**
   * The parts of a chunk, those of each part, and so on; the last ones are values of the
   * store below.
   */
  readonly layers: readonly (readonly Part[])[];
  readonly below: Store;
  /** Returns whether a key is a chunk key. */
  readonly isChunkKey: (key: StoreKey) => boolean;
}

const ofStores = new WeakMap<Store, AppliedParts>();

/** Returns what a store is composed of, or `undefined` if it is no composed store. */
export function appliedParts(store: Store): AppliedParts | undefined {
  return ofStores.get(store);
}

/** Remembers what a store is composed of. All stores that are composed of one store have the same locks. */
export function composeOf(composed: Store, applied: AppliedParts): void {
  ofStores.set(composed, applied);
  KeyLocks.of(baseOf(applied.below)).passOnTo(composed);
}

/** Returns the store of the objects that a store is composed of. */
export function baseOf(store: Store): Store {
  const applied = ofStores.get(store);
  return applied === undefined ? store : baseOf(applied.below);
}
