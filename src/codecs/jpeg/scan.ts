import type { Component, Frame } from "./frame.ts";
import {
  BitReader,
  type HuffmanTable,
  standardTables,
  type Tables,
} from "./tables.ts";

/** The header of a scan, which has data for some components of a frame. */
export interface Scan {
  readonly components: readonly ScanComponent[];
  /** The first and the last coefficient of each block, in the order of storage. */
  readonly first: number;
  readonly last: number;
  /** The lowest bit of coefficients that earlier scans hold; 0 if none do. */
  readonly earlierBit: number;
  /** The lowest bit of coefficients that this scan holds. */
  readonly lowBit: number;
}

/** A component in a scan. */
export interface ScanComponent {
  /** Its place in the frame. */
  readonly place: number;
  readonly component: Component;
  readonly dc: HuffmanTable | undefined;
  readonly ac: HuffmanTable | undefined;
}

/** Decodes a block of a component, whose place is counted in blocks. */
export interface BlockDecoder {
  decodeBlock(
    reader: BitReader,
    component: ScanComponent,
    block: number,
  ): void;
  /** Starts anew after a restart marker: later blocks do not depend on earlier ones. */
  restart(): void;
}

const HIGHEST_BIT = 13;

/** Reads the header of a scan. */
export function readScan(
  segment: Uint8Array,
  frame: Frame,
  tables: Tables,
): Scan {
  const count = segment[0] ?? 0;
  if (count < 1 || count > 4 || segment.length !== 4 + 2 * count) {
    throw new SyntaxError("The header of a scan is damaged");
  }
  const missing = frame.isProgressive ? undefined : standardTables();
  const components = Array.from({ length: count }, (_, i): ScanComponent => {
    const id = segment[1 + 2 * i]!;
    const numbers = segment[2 + 2 * i]!;
    const place = frame.components.findIndex((each) => each.id === id);
    if (place < 0) {
      throw new SyntaxError(
        `A scan has the component ${id}, which its frame lacks`,
      );
    }
    return {
      place,
      component: frame.components[place]!,
      dc: tables.dc[numbers >> 4] ?? missing?.dc[numbers >> 4],
      ac: tables.ac[numbers & 15] ?? missing?.ac[numbers & 15],
    };
  });
  if (new Set(components.map(({ place }) => place)).size < count) {
    throw new SyntaxError("A scan has a component twice");
  }
  const [first, last, bits] = segment.subarray(1 + 2 * count) as unknown as [
    number,
    number,
    number,
  ];
  const scan = {
    components,
    first,
    last,
    earlierBit: bits >> 4,
    lowBit: bits & 15,
  };
  const isDcOrAc = first === 0 ? last === 0 : count === 1;
  const isRight = frame.isProgressive
    ? isDcOrAc && first <= last && last < 64 && scan.lowBit <= HIGHEST_BIT &&
      (scan.earlierBit === 0 || scan.earlierBit === scan.lowBit + 1)
    : first === 0 && last === 63 && bits === 0;
  if (isRight) return scan;
  throw new SyntaxError(
    `The header of a scan has the coefficients ${first} to ${last} with the bits ${scan.earlierBit} and ${scan.lowBit}, for ${count} components`,
  );
}

/**
 * Decodes the data of a scan.
 *
 * @param interval The number of units between restart markers; 0 for none.
 * @returns A place after which the next marker is.
 */
export function decodeScan(
  bytes: Uint8Array,
  start: number,
  frame: Frame,
  { components }: Scan,
  interval: number,
  decoder: BlockDecoder,
): number {
  const reader = new BitReader(bytes, start);
  const only = components.length === 1 ? components[0] : undefined;
  const unitsX = only?.component.blocksX ?? frame.unitsX;
  const unitsY = only?.component.blocksY ?? frame.unitsY;
  let done = 0;
  for (let y = 0; y < unitsY; y++) {
    for (let x = 0; x < unitsX; x++, done++) {
      if (interval > 0 && done > 0 && done % interval === 0) {
        reader.restart((done / interval - 1) % 8);
        decoder.restart();
      }
      if (only !== undefined) {
        const block = y * only.component.blockStride + x;
        decoder.decodeBlock(reader, only, block);
        continue;
      }
      for (const each of components) {
        const { factorX, factorY, blockStride } = each.component;
        for (let v = 0; v < factorY; v++) {
          const row = (y * factorY + v) * blockStride + x * factorX;
          for (let h = 0; h < factorX; h++) {
            decoder.decodeBlock(reader, each, row + h);
          }
        }
      }
    }
  }
  return reader.offset;
}

/** A table that a scan needs. */
export function needTable(table: HuffmanTable | undefined): HuffmanTable {
  if (table !== undefined) return table;
  throw new SyntaxError(
    "A scan needs a Huffman table that is missing: expected it in the picture or in tables",
  );
}
