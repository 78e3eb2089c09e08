import { parseChunkKeyEncoding } from "../chunk_key_encoding/parse_chunk_key_encoding.ts";
import { namedCodecs } from "../jobs/plan/change_layout.ts";
import type { LayoutOptions } from "../jobs/plan/layout_options.ts";
import type {
  ArrayMetadata,
  NamedConfiguration,
} from "../metadata/array_metadata.ts";
import { MetadataError } from "../metadata/metadata_error.ts";
import { parseZarrJson } from "../metadata/zarr_json.ts";
import { type Arguments, UsageError } from "./command.ts";

/** The layout that the arguments say, but for the container. */
export async function layoutOf(args: Arguments): Promise<LayoutOptions> {
  const [suffix, parts, file] = ["suffix", "parts", "metadata"].map((name) =>
    args.text(name)
  );
  const keyEncoding = encodingOf(args);
  return {
    ...keyEncoding && { keyEncoding },
    ...suffix !== undefined && { suffix },
    ...parts !== undefined && { parts: parts === "-" ? [] : parts.split(",") },
    ...args.has("plain") && { plain: true },
    ...file !== undefined && {
      metadata: await readMetadata(file),
    },
    ...whereOf(args),
  };
}

async function readMetadata(file: string): Promise<ArrayMetadata> {
  const bytes = await Deno.readFile(file);
  try {
    return parseZarrJson(bytes) as ArrayMetadata;
  } catch (error) {
    if (!(error instanceof MetadataError)) throw error;
    throw new Error(
      `Cannot use --metadata ${JSON.stringify(file)}: ${error.problem}`,
      { cause: error },
    );
  }
}

/** The container of all arrays that get the layout. */
export async function containerOf(
  args: Arguments,
): Promise<Pick<LayoutOptions, "container">> {
  const format = args.text("container");
  if (format === undefined) return {};
  const containers = {
    tiff: async () => (await import("../tiff/tiff_container.ts")).tiffContainer,
    zip: async () => (await import("../zip/zip_container.ts")).zipContainer,
  };
  if (!Object.hasOwn(containers, format)) {
    throw new UsageError(
      `Expected --container=tiff or zip, found ${JSON.stringify(format)}`,
    );
  }
  const container = await containers[format as keyof typeof containers]();
  return { container: (metadata) => container(metadata) };
}

/** Arrays of a group that have no shards keep their layout where options are about shards. */
function whereOf(args: Arguments): Pick<LayoutOptions, "where"> {
  const parts = args.text("parts")?.split(",") ?? [];
  const isAboutShards = args.text("container") !== undefined ||
    parts.some((part) => part.endsWith(".index"));
  return !isAboutShards ? {} : {
    where: (metadata, path) =>
      path === "" || namedCodecs(metadata)[0]?.name === "sharding_indexed",
  };
}

function encodingOf(args: Arguments): NamedConfiguration | undefined {
  const [name, separator, format] = ["encoding", "separator", "template"]
    .map((option) => args.text(option));
  if (format !== undefined) {
    const configuration = { format, ...separator && { separator } };
    return { name: "template", configuration };
  }
  if (name === undefined && separator === undefined) return undefined;
  const encoding = {
    name: name ?? "default",
    ...separator !== undefined && { configuration: { separator } },
  };
  try {
    parseChunkKeyEncoding(encoding);
  } catch (error) {
    if (!(error instanceof MetadataError)) throw error;
    throw new UsageError(
      `Cannot use ${
        name === undefined ? "--separator" : "--encoding"
      }: ${error.problem}`,
    );
  }
  return encoding;
}
