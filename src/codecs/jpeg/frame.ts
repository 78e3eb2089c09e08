import {
  type BitReader,
  type HuffmanTable,
  numberAt,
  segments,
  type Tables,
} from "./segments.ts";

/** A picture of a JPEG file, before it is decoded. */
export interface Frame {
  readonly width: number;
  readonly height: number;
  readonly isProgressive: boolean;
  readonly components: readonly Component[];
  /** The number of units of `8 * most samples` pixels along x and y. */
  readonly unitsX: number;
  readonly unitsY: number;
}

/** One of the colors of a picture. */
export interface Component {
  readonly id: number;
  /** The blocks in a unit along x and y, 1 to 4. */
  readonly factorX: number;
  readonly factorY: number;
  readonly quantization: number;
  /** The number of samples along x and y. */
  readonly width: number;
  readonly height: number;
  /** The number of blocks along x and y that hold them. */
  readonly blocksX: number;
  readonly blocksY: number;
  /** The number of blocks from one row of blocks to the next, up to whole units. */
  readonly blockStride: number;
  /** The number of rows of blocks, up to whole units. */
  readonly blockRows: number;
}

const SOF0 = 0xc0;
const SOF2 = 0xc2;

/** The kinds of frames that are not decoded, by their markers. */
const OTHER_KINDS: Readonly<Record<number, string>> = {
  0xc3: "lossless",
  0xc5: "hierarchical",
  0xc6: "hierarchical",
  0xc7: "lossless",
  0xc9: "arithmetic coding",
  0xca: "arithmetic coding",
  0xcb: "lossless or hierarchical",
  0xcd: "lossless or hierarchical",
  0xce: "lossless or hierarchical",
  0xcf: "lossless or hierarchical",
};

/** Whether a marker begins a frame, of any kind. */
export function isFrameMarker(marker: number): boolean {
  return marker >= SOF0 && marker <= SOF2 || marker in OTHER_KINDS;
}

/**
 * Says why a frame is not decoded; `undefined` for a frame that is.
 *
 * @param bits The number of bits of a sample.
 */
function refusalOf(marker: number, bits: number): string | undefined {
  if (marker in OTHER_KINDS) {
    return `Expected a picture with Huffman coding, baseline or progressive, found ${
      OTHER_KINDS[marker]
    }`;
  }
  return bits === 8 ? undefined : `Expected samples of 8 bits, found ${bits}`;
}

/** The properties of a picture in the first frame of a JPEG file. */
interface JpegHeader {
  /** The height, the width, and the number of samples of a pixel. */
  readonly shape: readonly [number, number, number];
  /** Why the picture cannot be decoded; `undefined` if it can be. */
  readonly refusal: string | undefined;
}

/**
 * Finds the header of the picture in a JPEG file.
 *
 * @param bytes The start of the file.
 * @returns `undefined` if the bytes hold no header, or are damaged before it.
 */
export function findJpegHeader(bytes: Uint8Array): JpegHeader | undefined {
  try {
    for (const { marker, segment } of segments(bytes)) {
      if (!isFrameMarker(marker)) continue;
      const [bits = 0, , , , , samples = 0] = segment;
      return {
        shape: [numberAt(segment, 1), numberAt(segment, 3), samples],
        refusal: refusalOf(marker, bits),
      };
    }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  return undefined;
}

/** Reads the header of a frame. */
export function readFrame(marker: number, segment: Uint8Array): Frame {
  const [bits = 0, , , , , count = 0] = segment;
  const refusal = refusalOf(marker, bits);
  if (refusal !== undefined) throw new SyntaxError(refusal);
  if (segment.length < 6 || segment.length !== 6 + 3 * count || count === 0) {
    throw new SyntaxError("The header of the frame is damaged");
  }
  const height = segment[1]! << 8 | segment[2]!;
  const width = segment[3]! << 8 | segment[4]!;
  if (width === 0 || height === 0 || count > 4) {
    throw new SyntaxError(
      `Expected a picture of 1 pixel or more with 1 to 4 components, found ${width} by ${height} pixels with ${count}`,
    );
  }
  const raw = Array.from({ length: count }, (_, i) => {
    const at = 6 + 3 * i;
    const factors = segment[at + 1]!;
    return {
      id: segment[at]!,
      factorX: factors >> 4,
      factorY: factors & 15,
      quantization: segment[at + 2]!,
    };
  });
  const mostX = Math.max(...raw.map(({ factorX }) => factorX));
  const mostY = Math.max(...raw.map(({ factorY }) => factorY));
  const unitsX = Math.ceil(width / (8 * mostX));
  const unitsY = Math.ceil(height / (8 * mostY));
  const components = raw.map((component): Component => {
    const { id, factorX, factorY } = component;
    const isWhole = mostX % factorX === 0 && mostY % factorY === 0;
    if (!isWhole || mostX > 4 || mostY > 4) {
      throw new SyntaxError(
        `Expected sampling factors of 1 to 4 that divide ${mostX} and ${mostY}, found ${factorX} and ${factorY}`,
      );
    }
    if (raw.some((other) => other !== component && other.id === id)) {
      throw new SyntaxError(`Two components have the identifier ${id}`);
    }
    const samplesX = Math.ceil(width * factorX / mostX);
    const samplesY = Math.ceil(height * factorY / mostY);
    return {
      ...component,
      width: samplesX,
      height: samplesY,
      blocksX: Math.ceil(samplesX / 8),
      blocksY: Math.ceil(samplesY / 8),
      blockStride: unitsX * factorX,
      blockRows: unitsY * factorY,
    };
  });
  const isProgressive = marker === SOF2;
  return { width, height, isProgressive, components, unitsX, unitsY };
}

/** The samples of a component, in rows. */
export interface Plane {
  readonly samples: Uint8ClampedArray;
  /** The number of samples from one row to the next. */
  readonly stride: number;
}

/** Makes the plane of a component, with room for whole blocks. */
export function emptyPlane({ blockStride, blockRows }: Component): Plane {
  const stride = 8 * blockStride;
  return {
    samples: new Uint8ClampedArray(8 * blockRows * stride),
    stride,
  };
}

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
  /** @param reader `undefined` for blocks after the end of a scan that ends too early. */
  decodeBlock(
    reader: BitReader | undefined,
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
      dc: tables.dc[numbers >> 4],
      ac: tables.ac[numbers & 15],
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
 * @param reader Ends before a place after which the next marker is.
 */
export function decodeScan(
  reader: BitReader,
  frame: Frame,
  { components }: Scan,
  interval: number,
  decoder: BlockDecoder,
): void {
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
      // As in libjpeg, the unit in which the data ends is decoded from zeros.
      const source = reader.isExhausted ? undefined : reader;
      if (only !== undefined) {
        const block = y * only.component.blockStride + x;
        decoder.decodeBlock(source, only, block);
        continue;
      }
      for (const each of components) {
        const { factorX, factorY, blockStride } = each.component;
        for (let v = 0; v < factorY; v++) {
          const row = (y * factorY + v) * blockStride + x * factorX;
          for (let h = 0; h < factorX; h++) {
            decoder.decodeBlock(source, each, row + h);
          }
        }
      }
    }
  }
}

/** A table that a scan needs. */
export function needTable(table: HuffmanTable | undefined): HuffmanTable {
  if (table !== undefined) return table;
  throw new SyntaxError(
    "A scan needs a Huffman table that is missing: expected it in the picture or in tables",
  );
}
