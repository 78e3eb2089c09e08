import { describe, MetadataError } from "../errors/mod.ts";
import type { Part } from "../splitter/mod.ts";

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
