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

/** Why the frames of these markers are not decoded. */
const REFUSED: Readonly<Record<number, string>> = {
  ...names([0xc3, 0xc7], "lossless"),
  ...names([0xc5, 0xc6], "hierarchical"),
  ...names([0xc9, 0xca], "arithmetic coding"),
  ...names([0xcb, 0xcd, 0xce, 0xcf], "lossless or hierarchical"),
};

function names(
  markers: readonly number[],
  name: string,
): Record<number, string> {
  return Object.fromEntries(markers.map((marker) => [marker, name]));
}

/** Whether a marker begins a frame, of any kind. */
export function isFrameMarker(marker: number): boolean {
  return marker >= SOF0 && marker <= SOF2 || marker in REFUSED;
}

/** Why pictures of this marker or of these bits per sample are not decoded; `undefined` for those that are. */
export function refusalOf(marker: number, bits: number): string | undefined {
  if (marker in REFUSED) {
    return `Expected a picture with Huffman coding, baseline or progressive, found ${
      REFUSED[marker]
    }`;
  }
  return bits === 8 ? undefined : `Expected samples of 8 bits, found ${bits}`;
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
