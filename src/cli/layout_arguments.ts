import { parseChunkKeyEncoding } from "../chunk_key_encoding/mod.ts";
import { MetadataError, nearestName } from "../errors/mod.ts";
import { LayoutError, type LayoutOptions } from "../jobs/mod.ts";
import {
  type ArrayMetadata,
  type NamedConfiguration,
  parseZarrJson,
} from "../metadata/mod.ts";
import { type Arguments, type Command, UsageError } from "./command.ts";

/** Parses the options of the layout, except those of the container. */
export async function layoutOf(args: Arguments): Promise<LayoutOptions> {
  const [suffix, parts, file] = ["suffix", "parts", "metadata"].map((name) =>
    args.text(name)
  );
  const keyEncoding = encodingOf(args);
  if (suffix !== undefined) assertSuffix(suffix);
  if (parts !== undefined) assertParts(parts);
  return {
    ...keyEncoding && { keyEncoding },
    ...suffix !== undefined && { suffix },
    ...parts !== undefined && { parts: parts === "-" ? [] : parts.split(",") },
    ...args.has("plain") && { plain: true },
    ...file !== undefined && {
      metadata: forOneArray(await readMetadata(file)),
    },
  };
}

/** Converts an error about a layout to a {@linkcode UsageError}, and returns other errors as they are. */
export function withUsage(error: unknown): unknown {
  return error instanceof LayoutError ? new UsageError(error.message) : error;
}

/** Refuses an end of keys that runs into the last coordinate, such as `c/0/0shard`. */
function assertSuffix(suffix: string): void {
  if (!/^[a-z\d]/i.test(suffix)) return;
  throw new UsageError(
    `Expected --suffix to start with a dot, such as --suffix .${suffix}, found ${
      JSON.stringify(suffix)
    }`,
  );
}

/** Refuses parts without a size whose names look like those of parts that have one. */
function assertParts(list: string): void {
  const parts = list.split(",");
  const unsized = parts.filter((part) => !/:|\.index$|\.crc32c$/.test(part));
  if (unsized.length < 2) return;
  for (const part of unsized) {
    const nearest = nearestName(part, [".index", ".crc32c"]);
    if (part === "" || nearest === undefined) continue;
    const meant = parts.map((each) => each === part ? nearest : each);
    throw new UsageError(
      `Expected --parts of which one has no size, found ${
        unsized.map((each) => JSON.stringify(each)).join(" and ")
      }; did you mean --parts ${meant.join(",")}?`,
    );
  }
}

async function readMetadata(file: string): Promise<ArrayMetadata> {
  const problem = (text: string) =>
    new UsageError(`Cannot use --metadata ${JSON.stringify(file)}: ${text}`);
  const bytes = await Deno.readFile(file).catch((error) => {
    throw problem(
      error instanceof Deno.errors.NotFound
        ? "there is no such file"
        : error instanceof Deno.errors.IsADirectory
        ? "it is a folder, expected a file"
        : error.message,
    );
  });
  try {
    return parseZarrJson(bytes) as ArrayMetadata;
  } catch (error) {
    throw error instanceof MetadataError ? problem(error.problem) : error;
  }
}

function forOneArray(metadata: ArrayMetadata): LayoutOptions["metadata"] {
  return (_, path) => {
    if (path === "") return metadata;
    throw new UsageError(
      `Expected one array with --metadata, found a group with the array ${
        JSON.stringify(`/${path}`)
      }`,
    );
  };
}

/** The options that choose nodes of a group, which may be repeated. */
export const NODE_OPTIONS: Command["options"] = {
  "--only <GLOB>":
    "choose only these nodes of a group and the nodes below them, such as 0 or 'labels/**'; may be repeated",
  "--exclude <GLOB>":
    "leave out these nodes of a group and the nodes below them; may be repeated",
};

/** The names of {@linkcode NODE_OPTIONS}. */
export const NODE_OPTION_NAMES: readonly string[] = ["only", "exclude"];

/** The nodes that `--only` and `--exclude` choose. */
export function chosenNodes(
  args: Arguments,
): { only?: readonly string[]; exclude?: readonly string[] } {
  const [only, exclude] = [args.texts("only"), args.texts("exclude")];
  return {
    ...only.length > 0 && { only },
    ...exclude.length > 0 && { exclude },
  };
}

/** Parses `--others copy`. */
export function othersOf(args: Arguments): { others?: "copy" } {
  const others = args.text("others");
  if (others === undefined) return {};
  if (others === "copy") return { others };
  throw new UsageError(
    `Expected --others=copy, found ${JSON.stringify(others)}`,
  );
}

function encodingOf(args: Arguments): NamedConfiguration | undefined {
  const [name, separator, format] = ["encoding", "separator", "template"]
    .map((option) => args.text(option));
  if (format !== undefined) {
    if (format.includes("{*}") && !separator) {
      throw new UsageError(
        "Expected --separator=TEXT with {*} in --template, such as --separator /",
      );
    }
    const configuration = { format, ...separator && { separator } };
    return checked({ name: "template", configuration }, "--template");
  }
  if (name === undefined && separator === undefined) return undefined;
  return checked(
    {
      name: name ?? "default",
      ...separator !== undefined && { configuration: { separator } },
    },
    name === undefined ? "--separator" : "--encoding",
  );
}

function checked(
  encoding: NamedConfiguration,
  option: string,
): NamedConfiguration {
  try {
    parseChunkKeyEncoding(encoding);
    return encoding;
  } catch (error) {
    if (!(error instanceof MetadataError)) throw error;
    throw new UsageError(`Cannot use ${option}: ${error.problem}`);
  }
}
