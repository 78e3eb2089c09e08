import { assert } from "@std/assert";
import fc from "fast-check";
import * as zarr from "zarrita";
import { ArrayChunks, MemoryStore } from "../../mod.ts";
import { registerCodecs, setSharded, withZarrParts } from "../../zarrita.ts";
import { slowCoordinates } from "../shards/slow_shard.ts";
import { runs } from "../support/runs.ts";
import { arraysOf, coordinatesOf } from "./any_array.ts";
import { type Element, fillOf } from "./elements.ts";
import { storeByHand } from "./encoded_by_hand.ts";
import { placesOf, selectionsOf } from "./selections.ts";

registerCodecs(zarr.registry);

const PREFIX = new Uint8Array([250, 251, 252]);

Deno.test("setSharded that may replace other bytes keeps the prefix of partly selected shards, and not of shards without parts that a selection without steps covers", async () => {
  const cases = arraysOf(1)
    .filter(({ layouts }) => layouts[0]!.indexLocation === "end")
    .chain((array) => fc.tuple(fc.constant(array), selectionsOf(array.shape)));
  await fc.assert(
    fc.asyncProperty(cases, async ([array, selection]) => {
      const { metadata, shape, type } = array;
      const fill = fillOf(type);
      const other: Element = typeof fill === "boolean"
        ? !fill
        : typeof fill === "bigint"
        ? 2n
        : 2;
      const stored = new MemoryStore();
      await storeByHand(stored, "", {
        ...array,
        elements: array.elements.map(() => other), // No shard is absent.
        shards: { prefix: PREFIX },
      });
      const opened = await zarr.open(withZarrParts(stored), { kind: "array" });
      await setSharded(zarr, opened, selection, fill as never, {
        otherBytes: "replace",
      });

      const isWithoutSteps = selection.every((along) =>
        along === null ||
        (typeof along === "number"
          ? along >= 0
          : along.step === 1 || along.step === null)
      );
      const selected = new Set(placesOf(selection, shape));
      const [shardShape] = array.chunkShapes;
      const kept = new Set<string>();
      for (const place of array.elements.keys()) {
        if (selected.has(place)) continue;
        const shard = coordinatesOf(place, shape)
          .map((c, i) => Math.floor(c / shardShape![i]!));
        kept.add(shard.join());
      }
      const counts = shape.map((length, i) =>
        Math.ceil(length / shardShape![i]!)
      );
      const chunks = new ArrayChunks(stored, "", metadata);
      for (const coordinates of slowCoordinates(counts)) {
        const shard = (await chunks.get(coordinates))!;
        const isKept = shard.subarray(0, 3).join() === PREFIX.join();
        const isCovered = !kept.has(coordinates.join());
        if (!isCovered) assert(isKept);
        else if (isWithoutSteps && !metadata.storage_transformers) {
          assert(!isKept);
        }
      }
    }),
    { numRuns: runs(150) },
  );
});
