import type { ConvertOptions, Recoding } from "../jobs/mod.ts";
import { type Arguments, type Command, UsageError } from "./command.ts";
import { CODECS, threadsOf } from "./verify_command.ts";

/** The options that choose the codecs, chunks and shards of arrays that are encoded anew. */
export const RECODE_OPTIONS: Command["options"] = {
  "--codecs <LIST>":
    "encode chunks by these codecs, such as zstd:5, blosc:lz4, gzip,crc32c or none, or by metadata as JSON",
  "--chunks <SHAPE>":
    "divide the array into chunks of this shape, such as 1,256,256",
  "--shards <SHAPE>":
    "gather chunks in shards of this shape, such as 1,2048,2048, or none",
  "--threads <N>":
    "decode and encode in N threads, 0 for none; by default, one for each processor",
  "--memory <SIZE>":
    "the approximate limit of the memory for decoded and encoded chunks, such as 1GiB; 256MiB by default",
};

/** The names of these options. */
export const RECODE_NAMES: readonly string[] = Object.keys(RECODE_OPTIONS)
  .map((text) => /\w+/.exec(text)![0]);

/** Parses the recoding, and the threads and the memory for it. */
export function recodingOf(
  args: Arguments,
): Pick<ConvertOptions, "recode" | "threads" | "memory" | "codecs"> {
  const codecs = args.text("codecs");
  const chunks = shapeOf(args, "chunks");
  const shards = args.text("shards") === "none"
    ? null
    : shapeOf(args, "shards");
  const recode: Recoding = {
    ...codecs !== undefined && { codecs },
    ...chunks !== undefined && { chunks },
    ...shards !== undefined && { shards },
  };
  const [threads, memory] = [threadsOf(args), memoryOf(args)];
  return {
    ...Object.keys(recode).length > 0 && { recode },
    ...threads !== undefined && { threads },
    ...memory !== undefined && { memory },
    codecs: CODECS,
  };
}

function shapeOf(args: Arguments, name: string): number[] | undefined {
  const text = args.text(name);
  if (text === undefined) return undefined;
  if (/^(?:\d{1,15}(?:,\d{1,15})*)?$/.test(text)) {
    return text === "" ? [] : text.split(",").map(Number);
  }
  throw new UsageError(
    `Expected --${name} with the length along each dimension, such as --${name}=1,256,256${
      name === "shards" ? ", or none" : ""
    }, found ${JSON.stringify(text)}`,
  );
}

const UNITS = ["", "k", "M", "G", "T"];

function memoryOf(args: Arguments): number | undefined {
  const text = args.text("memory");
  if (text === undefined) return undefined;
  const [, digits, unit, binary] =
    /^(\d{1,15}) ?([kMGT]?)(i?)B?$/i.exec(text) ?? [];
  const power = UNITS.findIndex((each) =>
    each.toLowerCase() === unit?.toLowerCase()
  );
  const bytes = Number(digits) * (binary ? 1024 : 1000) ** power;
  if (Number.isSafeInteger(bytes) && bytes > 0) return bytes;
  throw new UsageError(
    `Expected --memory with a number of bytes, such as --memory=512MiB, found ${
      JSON.stringify(text)
    }`,
  );
}
