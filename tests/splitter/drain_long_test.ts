/** Joined streams that a FileSystemStore stores, some of them after they were read in part. */
import {
  assert,
  assertEquals,
  assertRejects,
  assertStrictEquals,
} from "@std/assert";
import {
  type ByteReader,
  ChecksumError,
  concatStream,
  FileSystemStore,
  PartSizeError,
} from "../../mod.ts";
import { takeShortcut } from "../../src/stores/byte_streams.ts";
import { ENGINES } from "../checksum/checksum_ways.ts";
import { noise } from "../checksum/noise.ts";
import { filesIn, inTempDir } from "../stores/temp_dir.ts";
import { inPieces, joined, partsOf, withChecksum } from "./oracle.ts";
import {
  assertGivenUp,
  never,
  probedSource,
  settle,
  type Source,
  SOURCE_KINDS,
  type SourceKind,
} from "./probes.ts";
import { join, JOINED, type JoinScenario } from "./scenarios.ts";

const SCENARIOS: JoinScenario[] = SOURCE_KINDS.flatMap((from) =>
  ENGINES.flatMap((engine) =>
    (["none", "compute"] as const).map((crc32c) => ({ from, engine, crc32c }))
  )
);

for (let count = 0; count <= 9; count++) {
  Deno.test(`concatStream gives a FileSystemStore the rest after ${count} pieces were read`, async () => {
    for (const scenario of SCENARIOS) {
      await inTempDir(async (folder) => {
        const { stream, reports } = join(scenario);
        const reader = stream.getReader();
        const first: Uint8Array[] = [];
        // A piece may hold bytes of two parts, so that there may be fewer than 9.
        for (let i = 0; i < count; i++) {
          const { value } = await reader.read();
          if (value !== undefined) first.push(value);
        }
        reader.releaseLock();
        await new FileSystemStore(folder).set("/x", stream);
        const rest = await Deno.readFile(`${folder}/x`);
        assertEquals(joined([...first, rest]), JOINED);
        assertEquals(reports.length, 1);
      });
    }
  });
}

Deno.test("concatStream that is locked is not stored, and goes on for its reader", async () => {
  for (const scenario of SCENARIOS) {
    await inTempDir(async (folder) => {
      const { stream } = join(scenario);
      const reader = stream.getReader();
      await assertRejects(
        () => new FileSystemStore(folder).set("/x", stream),
        TypeError,
      );
      assertEquals(await filesIn(folder), []);
      reader.releaseLock();
      assertEquals(joined(await Array.fromAsync(stream)), JOINED);
    });
  }
});

const WRONG = withChecksum(noise(20));
WRONG[3]! ^= 1;
const FAILURE = new Error("Line cut");

/** Parts that cannot be joined: their bytes, the size of the part, the place of a piece that fails, and the class of the error. */
const FAILING: Record<
  string,
  {
    bytes: Uint8Array;
    size?: number;
    failing?: number;
    type: typeof ChecksumError | typeof PartSizeError | typeof Error;
  }
> = {
  "has a wrong checksum": { bytes: WRONG, type: ChecksumError },
  "is too short": { bytes: noise(5), size: 6, type: PartSizeError },
  "is too long": { bytes: noise(7), size: 6, type: PartSizeError },
  "fails at once": { bytes: noise(6), failing: 0, type: Error },
  "fails later": { bytes: noise(6), failing: 2, type: Error },
};

for (const [name, { bytes, size, failing, type }] of Object.entries(FAILING)) {
  Deno.test(`concatStream that ${name} is not stored, and an earlier value stays`, async () => {
    for (const from of SOURCE_KINDS) {
      for (const engine of ENGINES) {
        await inTempDir(async (folder) => {
          const store = new FileSystemStore(folder);
          const failToStore = async () => {
            const stream = concatStream(
              partsOf([size]),
              () =>
                probedSource(from, inPieces(bytes, [2]), (piece) => {
                  if (piece === failing) throw FAILURE;
                }).source,
              { engine, crc32c: type === ChecksumError ? "verify" : "none" },
            );
            const error = await assertRejects(() => store.set("/x", stream));
            if (type === Error) assertStrictEquals(error, FAILURE);
            else assert(error instanceof type, `${error}`);
            await settle();
          };
          await failToStore();
          assertEquals(await filesIn(folder), []);
          await store.set("/x", Uint8Array.of(1));
          await failToStore();
          assertEquals(await filesIn(folder), ["x"]);
          assertEquals(await store.get("/x"), Uint8Array.of(1));
        });
      }
    }
  });
}

Deno.test("concatStream is not stored, and waits for nothing, if a write fails while a part stalls", async () => {
  const { write, writeSync } = Deno.FsFile.prototype;
  Deno.FsFile.prototype.write = () => Promise.reject(FAILURE);
  Deno.FsFile.prototype.writeSync = () => {
    throw FAILURE;
  };
  try {
    for (const from of SOURCE_KINDS) {
      for (const engine of ENGINES) {
        await inTempDir(async (folder) => {
          const source = stallingSource(from);
          const stream = concatStream(
            partsOf([undefined]),
            () => source.source,
            { engine },
          );
          const found = await assertRejects(() =>
            new FileSystemStore(folder).set("/x", stream)
          );
          assertStrictEquals(found, FAILURE);
          assertGivenUp(source, FAILURE);
          assertEquals(await filesIn(folder), []);
        });
      }
    }
  } finally {
    Deno.FsFile.prototype.write = write;
    Deno.FsFile.prototype.writeSync = writeSync;
  }
});

/** A source that gives a piece, or fills all memory, and then waits for ever. */
function stallingSource(from: SourceKind): Pick<Source, "source" | "ends"> {
  const stall = (piece: number) => piece === 1 ? never() : undefined;
  if (from === "stream") return probedSource(from, [noise(3)], stall);
  const ends: unknown[] = [];
  let reads = 0;
  const source: ByteReader = {
    read: ({ length }) => reads++ === 0 ? Promise.resolve(length) : never(),
    close: () => void ends.push("closed"),
  };
  return { source, ends };
}

Deno.test("concatStream is read into memory of the caller, whatever its parts are read from", async () => {
  for (const from of SOURCE_KINDS) {
    // The readers of the scenario give whole pieces.
    for (const size of from === "stream" ? [1, 2, 7, 1000] : [100, 1000]) {
      const { stream } = join({ from, engine: "native", crc32c: "none" });
      const reader = takeShortcut(stream, "reader")!;
      assert(stream.locked);
      const memory = new Uint8Array(size);
      const pieces: Uint8Array[] = [];
      while (true) {
        const length = await reader.read(memory);
        if (length === null) break;
        assert(length >= 1 && length <= size, `${length} of ${size}`);
        pieces.push(memory.slice(0, length));
      }
      await reader.close!();
      assertEquals(joined(pieces), JOINED);
    }
    // A piece waits for its checksum in memory that is not the caller's.
    const { stream } = join({ from, engine: "native", crc32c: "compute" });
    assertStrictEquals(takeShortcut(stream, "reader"), undefined);
    await stream.cancel();
  }
});
