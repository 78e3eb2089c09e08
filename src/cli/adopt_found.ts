import type { AdoptedArray } from "../adoption/adopted_array.ts";
import type { AdoptionOptions } from "../adoption/adoption_options.ts";
import { readSize } from "../stores/capabilities.ts";
import type { Store, StoreKey } from "../stores/store.ts";
import { type Arguments, UsageError } from "./command.ts";
import type { FilesToAdopt } from "./find_adopted.ts";
import { unitsText } from "./format.ts";

/** Adopts the files that were found, as the options of the command say. */
export async function adoptFound(
  store: Store,
  found: FilesToAdopt,
  args: Arguments,
  options: AdoptionOptions,
): Promise<AdoptedArray> {
  const adopt = found.format === "zip" ? adoptZips : adoptTiffs;
  return await adopt(store, found, args, options);
}

async function adoptTiffs(
  store: Store,
  found: FilesToAdopt,
  args: Arguments,
  options: AdoptionOptions,
): Promise<AdoptedArray> {
  if (args.has("array")) throw new UsageError("--array is for zip files only");
  const { adoptTiffs } = await import("../tiff/adopt_tiffs.ts");
  const [page, overview] = ["page", "overview"].map((name) =>
    wholeNumber(args, name)
  );
  const stack = args.has("stack");
  const rankOf = async (key: StoreKey) => {
    const { readShard } = await import("../tiff/read_shard.ts");
    const size = await readSize(store, key);
    if (size === undefined) return 0;
    const selection = { page, overview };
    const shard = await readShard(store, { key, size }, selection, {});
    return shard.shape.length + (stack ? 1 : 0);
  };
  const files = await placed(found, stack, rankOf);
  const fillValue = numberOf(args, "fill-value");
  return await adoptTiffs(store, found.path, {
    ...options,
    chunkKeyEncoding: found.encoding,
    files,
    stack,
    page,
    overview,
    fillValue,
  });
}

async function adoptZips(
  store: Store,
  found: FilesToAdopt,
  args: Arguments,
  options: AdoptionOptions,
): Promise<AdoptedArray> {
  for (const name of ["stack", "page", "overview", "fill-value"]) {
    if (args.has(name)) throw new UsageError(`--${name} is for TIFFs only`);
  }
  const { adoptZip } = await import("../zip/adopt_zip.ts");
  const array = args.text("array") ?? "";
  const rankOf = async (key: StoreKey) => {
    const { readZippedArray } = await import("../zip/zipped_array.ts");
    const { metadata } = await readZippedArray(store, key, array, {});
    return metadata.shape.length;
  };
  return await adoptZip(store, found.path, {
    ...options,
    chunkKeyEncoding: found.encoding,
    files: await placed(found, false, rankOf),
    array,
  });
}

/** Gives files the coordinates that their order says: one after another in a stack, or a single file. */
async function placed(
  { files }: FilesToAdopt,
  stack: boolean,
  rankOf: (key: StoreKey) => Promise<number>,
): Promise<{ key: StoreKey; coordinates: readonly number[] }[]> {
  const [first] = files;
  const rank = first!.coordinates === undefined ? await rankOf(first!.key) : 0;
  if (rank > 0 && files.length > 1 && !stack) {
    throw new UsageError(
      `Expected --template or --stack, which say the places of ${
        unitsText(files.length, "file")
      } in the array`,
    );
  }
  return files.map(({ key, coordinates }, i) => ({
    key,
    coordinates: coordinates ??
      Array.from({ length: rank }, (_, n) => n === 0 ? i : 0),
  }));
}

function wholeNumber(args: Arguments, name: string): number | undefined {
  const text = args.text(name);
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UsageError(
    `Expected --${name}=N with a whole number, found ${JSON.stringify(text)}`,
  );
}

/** A number, as a bigint where only that is exact. */
function numberOf(args: Arguments, name: string): number | bigint | undefined {
  const text = args.text(name);
  if (text === undefined) return undefined;
  const number = text.trim() === "" ? NaN : Number(text);
  if (Number.isNaN(number) && text !== "NaN") {
    throw new UsageError(
      `Expected --${name} with a number, found ${JSON.stringify(text)}`,
    );
  }
  const isLong = /^-?\d+$/.test(text) && !Number.isSafeInteger(number);
  return isLong ? BigInt(text) : number;
}
