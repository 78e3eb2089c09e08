import { Crc32c } from "../mod.ts";
import { MIB, randomBytes } from "./bytes.ts";
import { command } from "./command.ts";
import { SHARD_PARTS } from "./engines.ts";

const { parts } = SHARD_PARTS;

/** The names of the files that are joined. */
export const PARTS_TO_JOIN = parts.map(({ keySuffix }) => `part${keySuffix}`);
/** The names of the files that splitting makes. */
export const PARTS_MADE = parts.map(({ keySuffix }) => `cut${keySuffix}`);

/** The sizes of the parts of a shard in bytes. */
export function partSizes(shard: number): number[] {
  const sized = parts.reduce((sum, { size }) => sum + (size ?? 0), 0);
  return parts.map(({ size }) => size ?? shard - sized);
}

/**
 * Makes a file `shard` that ends with the CRC32C of the bytes before, and files
 * of its parts.
 *
 * @returns The CRC32C of the whole shard.
 */
export async function makeShard(folder: string, size: number): Promise<number> {
  using shard = await Deno.create(`${folder}/shard`);
  const checksum = new Crc32c();
  const block = randomBytes(MIB);
  for (let left = size - 4; left > 0; left -= MIB) {
    const bytes = block.subarray(0, left);
    block[0]!++; // Neighbouring blocks differ, so that one in the wrong place is found.
    checksum.update(bytes);
    await writeAll(shard, bytes);
  }
  const end = new Uint8Array(4);
  new DataView(end.buffer).setUint32(0, checksum.digest(), true);
  await writeAll(shard, end);

  let start = 1;
  for (const [i, partSize] of partSizes(size).entries()) {
    const cut = `tail -c +${start} shard | head -c ${partSize}`;
    await command("sh", ["-c", `${cut} > ${PARTS_TO_JOIN[i]}`], folder);
    start += partSize;
  }
  return checksum.update(end).digest();
}

/** Removes files, if they exist. */
export async function removeFiles(
  folder: string,
  names: readonly string[],
): Promise<void> {
  for (const name of names) {
    await Deno.remove(`${folder}/${name}`).catch(() => {});
  }
}

/** Compares files with the parts of the shard, if they have the names of parts, or with the shard. */
export async function assertRight(
  folder: string,
  names: readonly string[],
): Promise<void> {
  for (const name of names) {
    const expected = PARTS_TO_JOIN[PARTS_MADE.indexOf(name)] ?? "shard";
    await command("cmp", [name, expected], folder);
  }
}

/** The sum of the sizes of files in bytes. */
export async function totalSize(
  folder: string,
  names: readonly string[],
): Promise<number> {
  let sum = 0;
  for (const name of names) sum += (await Deno.stat(`${folder}/${name}`)).size;
  return sum;
}

async function writeAll(file: Deno.FsFile, bytes: Uint8Array): Promise<void> {
  while (bytes.length > 0) bytes = bytes.subarray(await file.write(bytes));
}
