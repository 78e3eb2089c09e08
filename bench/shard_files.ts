import { Crc32c } from "../src/checksum/crc32c.ts";
import { writeAll } from "../src/stores/byte_io.ts";
import { command } from "./command.ts";
import { randomBytes } from "./memory_streams.ts";
import { PARTS, partSizes } from "./shard_parts.ts";

const MIB = 1024 * 1024;

/** The names of a part's files: one to join, and one that splitting makes. */
export const PARTS_TO_JOIN = PARTS.parts.map(({ keySuffix }) =>
  `part${keySuffix}`
);
export const PARTS_MADE = PARTS.parts.map(({ keySuffix }) => `cut${keySuffix}`);

/**
 * Makes a file `shard`, which ends with the CRC32C of what is before, and its
 * parts beside it.
 *
 * @returns The CRC32C of the whole.
 */
export async function makeShard(folder: string, size: number): Promise<number> {
  using shard = await Deno.create(`${folder}/shard`);
  const checksum = new Crc32c();
  const block = randomBytes(MIB);
  for (let left = size - 4; left > 0; left -= MIB) {
    const bytes = block.subarray(0, left);
    block[0]!++; // No two blocks in a row are alike.
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

/** Removes files, where there are any. */
export async function removeFiles(
  folder: string,
  names: readonly string[],
): Promise<void> {
  for (const name of names) {
    await Deno.remove(`${folder}/${name}`).catch(() => {});
  }
}

/** Refuses files that are not the shard, or not its parts. */
export async function assertRight(
  folder: string,
  names: readonly string[],
): Promise<void> {
  const expected = names.length > 1 ? PARTS_TO_JOIN : ["shard"];
  for (const [i, name] of names.entries()) {
    await command("cmp", [name, expected[i]!], folder);
  }
}

/** How many bytes files have altogether. */
export async function totalSize(
  folder: string,
  names: readonly string[],
): Promise<number> {
  let sum = 0;
  for (const name of names) sum += (await Deno.stat(`${folder}/${name}`)).size;
  return sum;
}
