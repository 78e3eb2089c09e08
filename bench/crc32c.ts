/**
 * How many bytes a second go through CRC32C, the copy into the module's memory
 * included, beside other libraries; and whether the kernel changes its ways at
 * the right sizes. The targets are what this project holds itself to.
 */
import {
  type ChecksumContestant,
  checksumContestants,
  HASH_WASM,
  NODE_RS,
} from "./crc32c_contestants.ts";
import { printCrossovers } from "./crc32c_crossovers.ts";
import { type Contestant, medianTimes, seededRandom } from "./measure.ts";
import { printSpeeds } from "./crc32c_table.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

/** What is measured: sizes of data, and how many times as fast as others ours is to be. */
const SIZES: readonly { size: number; targets: Record<string, number> }[] = [
  { size: 64, targets: {} },
  { size: 256, targets: {} },
  { size: KIB, targets: {} },
  { size: 4 * KIB, targets: { [HASH_WASM]: 1 } },
  { size: 64 * KIB, targets: { [NODE_RS]: 1 } },
  { size: MIB, targets: { [NODE_RS]: 2, [HASH_WASM]: 6 } },
  { size: 8 * MIB, targets: { [NODE_RS]: 2, [HASH_WASM]: 6 } },
  { size: 64 * MIB, targets: { [NODE_RS]: 2, [HASH_WASM]: 6 } },
];

/** How fast one contestant is. */
export interface Crc32cSpeed {
  readonly name: string;
  /** 10^9 bytes a second; `undefined` where it cannot run. */
  readonly gigabytesPerSecond: number | undefined;
  /** How many times as fast ours is; `undefined` where it cannot run. */
  readonly ratio: number | undefined;
  /** What the ratio is to be at least, if anything. */
  readonly target: number | undefined;
  /** Why it cannot run. */
  readonly unavailable: string | undefined;
}

/** How fast all are with data of one size. */
export interface Crc32cRow {
  /** In bytes. */
  readonly size: number;
  /** Ours first, the others in the same order in each row. */
  readonly speeds: readonly Crc32cSpeed[];
}

/** Measures all contestants at all sizes, which takes about half a minute. */
export async function measureCrc32c(): Promise<Crc32cRow[]> {
  const contestants = await checksumContestants();
  const data = randomBytes(SIZES.at(-1)!.size);
  return SIZES.map(({ size, targets }) => ({
    size,
    speeds: measureSpeeds(contestants, data.subarray(0, size), targets),
  }));
}

function measureSpeeds(
  contestants: readonly ChecksumContestant[],
  data: Uint8Array,
  targets: Record<string, number>,
): Crc32cSpeed[] {
  const running = contestants.filter(({ unavailable }) => !unavailable);
  // The slowest takes half a second for the largest data.
  const [rounds, warmUpRounds] = data.length > 8 * MIB ? [11, 2] : [21, 4];
  const times = medianTimes(
    running.map((contestant) => ofTurns(contestant, data)),
    rounds,
    warmUpRounds,
  );
  const speeds = new Map(
    running.map((contestant, i) => {
      const bytes = passes(contestant, data) * data.length;
      return [contestant.name, bytes / times[i]! / 1e6];
    }),
  );
  const ours = speeds.get(contestants[0]!.name)!;
  return contestants.map(({ name, unavailable }) => {
    const gigabytesPerSecond = speeds.get(name);
    return {
      name,
      gigabytesPerSecond,
      ratio: gigabytesPerSecond && ours / gigabytesPerSecond,
      target: targets[name],
      unavailable,
    };
  });
}

function passes({ bytesPerTurn }: ChecksumContestant, data: Uint8Array) {
  return Math.max(1, Math.floor(bytesPerTurn / data.length));
}

/** A contestant whose result is the checksum, from however many passes. */
function ofTurns(
  contestant: ChecksumContestant,
  data: Uint8Array,
): Contestant {
  const count = passes(contestant, data);
  return {
    name: contestant.name,
    run() {
      let sum = 0;
      for (let pass = 0; pass < count; pass++) sum += contestant.checksum(data);
      return sum / count;
    },
  };
}

/** Bytes of which the first MiB is random, and the rest that again. */
function randomBytes(length: number): Uint8Array {
  const random = seededRandom(20250301);
  const bytes = new Uint8Array(length);
  for (let i = 0; i < MIB; i++) bytes[i] = Math.floor(256 * random());
  for (let i = MIB; i < length; i += MIB) bytes.copyWithin(i, 0, MIB);
  return bytes;
}

if (import.meta.main) {
  printSpeeds(await measureCrc32c());
  printCrossovers();
}
