import type { BitReader } from "./bit_reader.ts";
import { inverseDct } from "./inverse_dct.ts";
import type { Plane } from "./planes.ts";
import { type BlockDecoder, needTable, type ScanComponent } from "./scan.ts";
import { ZIGZAG } from "./tables.ts";

/** Decodes blocks that are stored as a whole, into samples. */
export class SequentialDecoder implements BlockDecoder {
  readonly #planes: readonly Plane[];
  /** The factors of each component. */
  readonly #factors: readonly Int32Array[];
  /** The first coefficient of the last block of each component. */
  readonly #earlier: Int32Array;
  readonly #block = new Int16Array(64);

  constructor(planes: readonly Plane[], factors: readonly Int32Array[]) {
    this.#planes = planes;
    this.#factors = factors;
    this.#earlier = new Int32Array(planes.length);
  }

  decodeBlock(
    reader: BitReader,
    { place, component, dc, ac }: ScanComponent,
    block: number,
  ): void {
    const coefficients = this.#block.fill(0);
    const bits = needTable(dc).read(reader);
    if (bits > 0) this.#earlier[place]! += reader.readSigned(bits);
    coefficients[0] = this.#earlier[place]!;
    const table = needTable(ac);
    for (let k = 1; k < 64; k++) {
      const symbol = table.read(reader);
      const bits = symbol & 15;
      const zeros = symbol >> 4;
      if (bits === 0 && zeros < 15) break;
      k += zeros;
      if (bits === 0) continue;
      if (k > 63) throw tooMany(reader);
      coefficients[ZIGZAG[k]!] = reader.readSigned(bits);
    }
    const { samples, stride } = this.#planes[place]!;
    const x = block % component.blockStride;
    const y = (block - x) / component.blockStride;
    inverseDct(
      coefficients,
      0,
      this.#factors[place]!,
      samples,
      8 * (y * stride + x),
      stride,
    );
  }

  restart(): void {
    this.#earlier.fill(0);
  }
}

/** The error for a block of more than 64 coefficients. */
export function tooMany(reader: BitReader): SyntaxError {
  return new SyntaxError(
    `A block has more than 64 coefficients before byte ${reader.offset}`,
  );
}
