import { inspect } from "../jobs/inspect/inspect.ts";
import { type Command, UsageError } from "./command.ts";
import { drawNode } from "./draw_array.ts";
import { drawShard } from "./draw_shard.ts";
import { drawTree } from "./draw_tree.ts";
import { jsonText } from "./format.ts";
import { assertSource, openStore } from "./open_store.ts";

/** `zarr-parts inspect PATH|URL` */
export const INSPECT: Command = {
  name: "inspect",
  operands: ["PATH|URL"],
  summary:
    "Shows how an array is laid out: its chunks, keys, parts and codecs, how many\nchunks are stored, and where the bytes of one chunk are. Of a group, the tree of\nits nodes.",
  options: {
    chunk: {
      type: "string",
      value: "I,J",
      help: "the chunk to show, with a map of its inner chunks",
    },
    sizes: { type: "boolean", help: "sum up the lengths of all chunks" },
  },
  examples: [
    "zarr-parts inspect data.zarr",
    "zarr-parts inspect https://example.com/data.zarr --chunk 0,1",
  ],
  async run(args, io) {
    const [place] = args.operands as [string];
    const text = args.text("chunk");
    if (text !== undefined && !/^\d*(,\d+)*$/.test(text)) {
      throw new UsageError(
        `Expected --chunk=I,J with grid coordinates, such as 0,1, found ${
          JSON.stringify(text)
        }`,
      );
    }
    const store = openStore(place);
    await assertSource(place);
    const inspection = await inspect(store, "", {
      ...text !== undefined && {
        chunk: text === "" ? [] : text.split(",").map(Number),
      },
      sizes: args.has("sizes"),
      signal: io.signal,
    });
    if (args.has("json")) {
      io.print(jsonText(inspection));
      return 0;
    }
    if (inspection.unfinished !== undefined) {
      io.note(
        `A conversion in place is unfinished, or another program is at work on it; finish it by ${inspection.unfinished}\n`,
      );
    }
    if (args.has("quiet")) return 0;
    if (inspection.nodes[0]!.kind === "group" && text === undefined) {
      for (const line of drawTree(inspection, place)) io.print(line);
      return 0;
    }
    for (const node of inspection.nodes) {
      for (const line of drawNode(node, place)) io.print(line);
      if (text === undefined || node.kind !== "array" || !node.chunk?.index) {
        continue;
      }
      for (const line of drawShard(node.chunk.index)) io.print(line);
    }
    return 0;
  },
};
