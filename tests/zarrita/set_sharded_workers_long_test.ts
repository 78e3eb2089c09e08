import { assert, assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import { arrayMetadata, createArrayChunks, MemoryStore } from "../../mod.ts";
import { registerCodecs, setSharded, withZarrParts } from "../../zarrita.ts";

registerCodecs(zarr);

const MIB = 2 ** 20;
/** The fewest elements of uint8 that threads encode. */
const LARGE = 16 * MIB;

const ORIGINAL = globalThis.Worker;

/** The workers that were started and ended while a task ran with a class in place of `Worker`. */
async function withWorkers(
  replacement: (original: typeof Worker) => typeof Worker,
  task: () => Promise<void>,
): Promise<{ started: number; ended: number }> {
  const counts = { started: 0, ended: 0 };
  class Counted extends ORIGINAL {
    constructor(...args: ConstructorParameters<typeof Worker>) {
      super(...args);
      counts.started++;
    }
    override terminate() {
      counts.ended++;
      super.terminate();
    }
  }
  globalThis.Worker = replacement(Counted);
  try {
    await task();
  } finally {
    globalThis.Worker = ORIGINAL;
  }
  return counts;
}

function elements(length: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(length).map((_, i) => (i * i) >> 7);
}

async function newArray(length: number, codec: string) {
  const stored = new MemoryStore();
  await createArrayChunks(
    stored,
    "",
    arrayMetadata({
      shape: [length],
      dataType: "uint8",
      chunkShape: [MIB / 4],
      shardShape: [MIB],
      codecs: [codec],
    }),
  );
  const array = await zarr.open(withZarrParts(stored), { kind: "array" });
  return { stored, array: array as zarr.Array<"uint8", MemoryStore> };
}

async function assertWritten(length: number, codec: string): Promise<void> {
  const { array } = await newArray(length, codec);
  const data = elements(length);
  await setSharded(zarr, array, null, data);
  assertEquals(data, elements(length)); // No thread has taken its memory.
  const found = (await zarr.get(array)).data as Uint8Array;
  assert(found.every((element, i) => element === data[i]));
}

Deno.test("setSharded encodes many bytes by workers, which end with it", async () => {
  for (const codec of ["zstd", "gzip", "numcodecs.zlib"]) {
    const { started, ended } = await withWorkers(
      (original) => original,
      () => assertWritten(LARGE, codec),
    );
    assert(started > 0 && started <= navigator.hardwareConcurrency);
    assertEquals(ended, started);
  }
});

Deno.test("setSharded starts no workers for fewer bytes", async () => {
  const counts = await withWorkers(
    (original) => original,
    () => assertWritten(LARGE - 1, "zstd"),
  );
  assertEquals(counts, { started: 0, ended: 0 });
});

Deno.test("setSharded encodes without workers where the runtime refuses them or they fail to start", async () => {
  class Refused {
    constructor() {
      throw new Error("No workers here");
    }
  }
  const refused = () => Refused as unknown as typeof Worker;
  const broken = (original: typeof Worker) =>
    class extends original {
      constructor() {
        super("data:text/javascript,throw new Error('Broken')", {
          type: "module",
        });
      }
    };
  for (const replacement of [refused, broken]) {
    const { started, ended } = await withWorkers(
      replacement,
      () => assertWritten(LARGE, "zstd"),
    );
    assertEquals(ended, started);
  }
});

Deno.test("setSharded ends its workers when it is aborted", async () => {
  const { stored, array } = await newArray(LARGE, "zstd");
  const counts = await withWorkers((original) => original, async () => {
    const controller = new AbortController();
    const reason = new Error("Enough");
    const set = stored.set.bind(stored);
    stored.set = (...entry) => {
      controller.abort(reason);
      return set(...entry);
    };
    const { signal } = controller;
    const error = await assertRejects(() =>
      setSharded(zarr, array, null, elements(LARGE), { signal })
    );
    assertEquals(error, reason);
    // The write ends a little later than its promise.
    await setSharded(zarr, array, [0], 1);
  });
  assert(counts.started > 0);
  assertEquals(counts.ended, counts.started);
});
