import type { Frame } from "./frame.ts";
import { inverseDct } from "./inverse_dct.ts";
import { emptyPlane, type Plane } from "./planes.ts";
import { ProgressiveDecoder } from "./progressive.ts";
import { decodeScan, readScan, type Scan } from "./scan.ts";
import { SequentialDecoder } from "./sequential.ts";
import type { Tables } from "./tables.ts";

/** Bounds the time that a small file takes. Encoders write about 10 scans. */
const MOST_SCANS = 100;

/**
 * The coefficients that must be whole. libjpeg estimates these if they are missing,
 * and takes later ones as 0.
 */
const NEEDED_COEFFICIENTS = 10;

/** Decodes the scans of a frame. */
export class FrameDecoder {
  readonly #frame: Frame;
  readonly #planes: readonly Plane[];
  /** The coefficients of the components of a progressive frame. */
  readonly #coefficients: readonly Int16Array[];
  /** For each component, the lowest bit of each coefficient so far; -1 for none. */
  readonly #lowBits: readonly Int8Array[];
  /** The factors of each component, as they are at its first scan. */
  readonly #factors: Int32Array[] = [];
  #scans = 0;

  constructor(frame: Frame) {
    this.#frame = frame;
    this.#planes = frame.components.map(emptyPlane);
    this.#coefficients = frame.isProgressive
      ? this.#planes.map(({ samples }) => new Int16Array(samples.length))
      : [];
    this.#lowBits = frame.components.map(() => new Int8Array(64).fill(-1));
  }

  /**
   * Decodes a scan.
   *
   * @param segment The header of the scan.
   * @param start The place of its data.
   * @param interval The number of units between restart markers; 0 for none.
   * @returns A place after which the next marker is.
   */
  decode(
    bytes: Uint8Array,
    segment: Uint8Array,
    start: number,
    tables: Tables,
    interval: number,
  ): number {
    const frame = this.#frame;
    const scan = readScan(segment, frame, tables);
    if (++this.#scans > MOST_SCANS) {
      throw new SyntaxError(`Expected ${MOST_SCANS} scans at most, found more`);
    }
    for (const { place } of scan.components) this.#begin(place, scan, tables);
    const decoder = frame.isProgressive
      ? new ProgressiveDecoder(this.#coefficients, scan)
      : new SequentialDecoder(this.#planes, this.#factors);
    return decodeScan(bytes, start, frame, scan, interval, decoder);
  }

  #begin(place: number, { first, last, lowBit }: Scan, tables: Tables): void {
    const { id, quantization } = this.#frame.components[place]!;
    const lowBits = this.#lowBits[place]!;
    if (!this.#frame.isProgressive && lowBits[0] === 0) {
      throw new SyntaxError(`The component ${id} has two scans`);
    }
    lowBits.fill(lowBit, first, last + 1);
    const factors = this.#factors[place] ?? tables.quantization[quantization];
    if (factors === undefined) {
      throw new SyntaxError(
        `The component ${id} needs the quantization table ${quantization}, which is missing: expected it in the picture or in tables`,
      );
    }
    this.#factors[place] = factors;
  }

  /** The samples of all components. */
  planes(): readonly Plane[] {
    if (!this.#isWhole()) {
      throw new SyntaxError("The picture ends before its last scan");
    }
    for (const [place, coefficients] of this.#coefficients.entries()) {
      const { blockStride, blockRows } = this.#frame.components[place]!;
      const { samples, stride } = this.#planes[place]!;
      for (let block = 0; block < blockStride * blockRows; block++) {
        const x = block % blockStride;
        const y = (block - x) / blockStride;
        inverseDct(
          coefficients,
          64 * block,
          this.#factors[place]!,
          samples,
          8 * (y * stride + x),
          stride,
        );
      }
    }
    return this.#planes;
  }

  #isWhole(): boolean {
    return this.#lowBits.every((bits) =>
      bits.subarray(0, NEEDED_COEFFICIENTS).every((bit) => bit === 0)
    );
  }
}
