import { flattenLayers } from "../../concat_parts/flat_parts.ts";
import { isSameJson } from "../../metadata/same_json.ts";
import type { Part } from "../../splitter/part.ts";

/** How the objects of a chunk become those of another layout. */
export interface PartMatch {
  /** The parts as objects of the store, before and after. */
  readonly before: readonly Part[];
  readonly after: readonly Part[];
  /** Whether parts of the old layout have a size together that their own sizes do not ensure. */
  readonly hasSums: boolean;
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
export function matchParts(
  from: readonly (readonly Part[])[],
  to: readonly (readonly Part[])[],
): PartMatch | undefined {
  const [before, after] = [flattenLayers(from), flattenLayers(to)];
  const parts = {
    before: before.parts,
    after: after.parts,
    hasSums: before.sums.length > 0,
  };
  if (isSameJson(sizesOf(before.parts), sizesOf(after.parts))) {
    const same = after.parts.map((_, i) => i);
    return { ...parts, same, data: undefined, growth: 0 };
  }
  if (parts.hasSums || after.sums.length > 0) return undefined;
  const [old, now] = [placesOf(before.parts), placesOf(after.parts)];
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
  return { ...parts, same, data, growth };
}

/** The place of the unsized part. */
const DATA = "data";

/** The places of parts in a chunk as texts: equal ones are equal ranges of bytes, unless the unsized part differs. */
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
