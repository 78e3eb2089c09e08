import { DamageError } from "../errors/damage_error.ts";
import { describe } from "../metadata/describe.ts";
import type { Extent } from "../shards/inner_extents.ts";

/** A zip to read. */
export interface ZipFile {
  /** Its key, for messages. */
  readonly key: string;
  /** Its length in bytes. */
  readonly size: number;
  /** Reads a range that lies in the file. */
  read(extent: Extent): Promise<Uint8Array>;
}

/** An error about a file that cannot be read as a zip. */
export function damaged({ key }: ZipFile, problem: string): DamageError {
  return new DamageError(`File ${describe(key)} ${problem}`, { key });
}

/** Reads a number of 64 bits. */
export function readNumber(view: DataView, at: number, file: ZipFile): number {
  const number = view.getBigUint64(at, true);
  if (number <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(number);
  throw damaged(
    file,
    `holds the offset or the size ${number}, where 2^53−1 is the most that can be read`,
  );
}
