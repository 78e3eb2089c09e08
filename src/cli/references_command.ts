import { dirname, isAbsolute, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { placeOf, readNodes } from "../hierarchy/mod.ts";
import { references } from "../jobs/mod.ts";
import {
  type Command,
  UsageError,
  usageError,
  wholeNumber,
} from "./command.ts";
import { neededCodecs } from "./draw_array.ts";
import { unitsText } from "./format.ts";
import { openSource, pathOf } from "./open_store.ts";
import type { Outputs } from "./outputs.ts";
import { NODES, SOURCE } from "./shared_options.ts";

/** Above this number of references, the command names a format that is faster to open. */
const MANY = 1_000_000;

/** `zarr-parts references SOURCE -o FILE` */
export const REFERENCES: Command = {
  name: "references",
  operands: ["SOURCE"],
  summary:
    "Writes references to the chunks of an array or a group, in the format of kerchunk, by which zarr-python, xarray, GDAL and VirtualiZarr read the array where it is. SOURCE is the path or the URL of a folder. References are those of the moment: a chunk that is written later may be read wrong.",
  options: {
    "-o, --output <FILE>": "the JSON file to write; its folder is made",
    "--url-prefix <URL>":
      "what comes before keys in URLs; by default, the URL of SOURCE",
    "--inline-limit <N>":
      "the greatest length in bytes of a chunk that is written into the references where it lies in several objects; 4096 by default",
    ...NODES.options,
    ...SOURCE.options,
  },
  examples: [
    "zarr-parts references data.zarr -o refs.json",
    "zarr-parts references data.zarr -o refs.json --url-prefix https://a.org/data/",
  ],
  async run(args, io) {
    const [source] = args.operands as [string];
    const output = args.text("output");
    if (output === undefined) {
      throw new UsageError(
        "Expected -o FILE, the file to write, such as -o refs.json",
      );
    }
    const inlineLimit = wholeNumber(args, "inline-limit");
    const urlPrefix = args.text("url-prefix") ?? urlOf(source);
    const store = await openSource(source, args, io);
    if (store.describe !== undefined) {
      throw usageError`References lead to files and objects, and ${source} is an archive; expected a folder, as zarr-parts convert makes of it`;
    }
    let count = 0;
    const stream = references(store, {
      urlPrefix,
      ...inlineLimit !== undefined && { inlineLimit },
      ...NODES.read(args),
      signal: io.signal,
      onProgress(references) {
        count = references;
      },
    });
    const unfinished = `${output}.unfinished`;
    try {
      await mkdir(dirname(output), { recursive: true });
      await writeFile(unfinished, stream, { signal: io.signal });
      await rename(unfinished, output);
    } catch (error) {
      await rm(unfinished, { force: true });
      throw error;
    }
    if (!args.has("quiet")) {
      const options = { ...NODES.read(args), signal: io.signal };
      const { nodes } = await readNodes(placeOf(store), options);
      const codecs = neededCodecs(nodes.flatMap(({ array }) => array ?? []));
      if (codecs) io.hint(codecs);
    }
    if (count > MANY && !args.has("json")) {
      const references = unitsText(count, "reference");
      io.note(
        `${references} take long to open; VirtualiZarr with Icechunk opens as many at once`,
      );
    }
    return {
      output: { references: count, urlPrefix } satisfies Outputs["references"],
      lines: [
        `${output}: ${unitsText(count, "reference")}`,
        ...openingLines(resolve(output), urlPrefix),
      ],
    };
  },
};

/** The URL of a source, with a last slash. */
function urlOf(source: string): string {
  const path = pathOf(source);
  const url = path === undefined
    ? source
    : pathToFileURL(isAbsolute(path) ? path : resolve(path)).href;
  return url.endsWith("/") ? url : `${url}/`;
}

/** The lines that open references in other programs. */
function openingLines(path: string, urlPrefix: string): string[] {
  const [, protocol] = /^(https?):/.exec(urlPrefix) ?? [];
  const remote = protocol
    ? `, remote_protocol="${protocol}", remote_options={"asynchronous": True}`
    : "";
  return [
    "",
    "zarr-python:",
    "  import fsspec, zarr",
    `  fs = fsspec.filesystem("reference", fo=${
      JSON.stringify(path)
    }, asynchronous=True${remote})`,
    '  zarr.open(zarr.storage.FsspecStore(fs, path="", read_only=True), mode="r")',
    "xarray:",
    `  xarray.open_zarr(zarr.storage.FsspecStore(fs, path="", read_only=True), consolidated=False)`,
    "GDAL:",
    `  gdalmdiminfo 'ZARR:"/vsikerchunk_json_ref/{${path}}"'`,
    "",
    "References are those of this moment: a chunk that is written later may be read wrong.",
  ];
}
