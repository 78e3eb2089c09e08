import type { ElementKind } from "./element_kinds.ts";

export interface Configuration {
  padding_encoding?: "none" | "first_byte" | "last_byte";
  first_bit?: number | null;
  last_bit?: number | null;
}

/** `packbits` as its document says it, one bit at a time: the sequence of bits is a list. */
export function oracleEncode(
  patterns: readonly bigint[],
  { bits }: ElementKind,
  configuration: Configuration,
): number[] {
  const { first, last } = bounds(bits, configuration);
  const sequence: bigint[] = [];
  for (const pattern of patterns) {
    for (let bit = first; bit <= last; bit++) {
      sequence.push(pattern / 2n ** BigInt(bit) % 2n);
    }
  }
  let padding = 0;
  while (sequence.length % 8 !== 0) {
    sequence.push(0n);
    padding++;
  }
  const bytes: number[] = [];
  for (let i = 0; i < sequence.length; i += 8) {
    bytes.push(
      Number(
        sequence.slice(i, i + 8).reduceRight((all, bit) => 2n * all + bit),
      ),
    );
  }
  if (configuration.padding_encoding === "first_byte") {
    return [padding, ...bytes];
  }
  if (configuration.padding_encoding === "last_byte") {
    return [...bytes, padding];
  }
  return bytes;
}

/** Returns the elements after packing: shifted to `first_bit`, and extended by the sign or by 0. */
export function oracleKept(
  patterns: readonly bigint[],
  { bits, isSigned }: ElementKind,
  configuration: Configuration,
): bigint[] {
  const { first, last } = bounds(bits, configuration);
  return patterns.map((pattern) => {
    const field = (pattern / 2n ** BigInt(first)) %
      2n ** BigInt(last - first + 1);
    const shifted = field * 2n ** BigInt(first);
    return isSigned
      ? BigInt.asUintN(bits, BigInt.asIntN(last + 1, shifted))
      : shifted;
  });
}

function bounds(
  bits: number,
  { first_bit, last_bit }: Configuration,
): { first: number; last: number } {
  return { first: first_bit ?? 0, last: last_bit ?? bits - 1 };
}
