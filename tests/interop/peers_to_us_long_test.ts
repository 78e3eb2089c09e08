import { assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import { MemoryStore, type Store } from "../../mod.ts";
import { registerCodecs, withZarrParts } from "../../zarrita.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { testWith } from "../support/tools.ts";
import { assertFilledChunks } from "./assert_filled_chunks.ts";
import { Exchange, PEERS } from "./exchange.ts";
import type { InteropArray } from "./interop_array.ts";
import { GROUPS, MATRIX } from "./matrix.ts";
import { assertFailures, failuresOf } from "./outcomes.ts";
import { CANNOT_WRITE } from "./peer_limits.ts";
import { PYTHON } from "./python.ts";
import { locate, readElements } from "./read_elements.ts";
import { STORAGE_WAYS } from "./storage_ways.ts";
import { storeArrayAgain, storeGroupsAgain } from "./store_again.ts";
import {
  CONSOLIDATED_LIMITS,
  ZARR_PARTS_LIMITS,
  ZARRITA_LIMITS,
} from "./zarrita_limits.ts";

registerCodecs(zarr.registry);

const READING_LIMITS = { ...ZARRITA_LIMITS, ...ZARR_PARTS_LIMITS };

for (const peer of PEERS) {
  testWith(
    PYTHON,
    `withZarrParts lets zarrita read arrays of ${peer.name}, as written and stored again in parts`,
    async (python, t) => {
      await inTempDir(async (folder) => {
        const exchange = new Exchange(folder, MATRIX);
        const refused = await exchange.write(python, peer, GROUPS);
        assertFailures(refused, CANNOT_WRITE[peer.name]!, MATRIX);
        const arrays = MATRIX.filter(({ path }) => !(path in refused));
        const written = exchange.store;
        await t.step(
          "only chunks of the fill value are absent",
          async () => {
            for (const array of arrays) {
              if (!array.byDefault) await assertFilledChunks(written, array);
            }
          },
        );
        await t.step(
          "as written",
          () => assertReadable(written, arrays),
        );
        for (const [name, way] of Object.entries(STORAGE_WAYS)) {
          await t.step(`stored again with ${name}`, async () => {
            const stored = new MemoryStore();
            for (const { path } of arrays) {
              await storeArrayAgain(written, stored, path, way);
            }
            await assertReadable(stored, arrays);
            await storeGroupsAgain(written, stored, GROUPS);
            if (peer.hasGroups) {
              await assertGroups(stored, arrays);
            }
          });
        }
      });
    },
  );
}

async function assertReadable(
  stored: Store,
  arrays: readonly InteropArray[],
): Promise<void> {
  const store = withZarrParts(stored);
  const failures = await failuresOf(
    arrays,
    (path) => readElements(store, path),
  );
  assertFailures(failures, READING_LIMITS, arrays);
}

/** Asserts that groups open, and that the consolidated metadata of the root lists all nodes. */
async function assertGroups(
  stored: Store,
  arrays: readonly InteropArray[],
): Promise<void> {
  const store = await zarr.withConsolidatedMetadata(withZarrParts(stored), {
    format: "v3",
  });
  for (const path of GROUPS) {
    const group = await zarr.open.v3(locate(store, path), { kind: "group" });
    assertEquals(group.attrs, { path });
  }
  const nodes = store.contents().map(({ path, kind }) => `${kind} ${path}`);
  assertEquals(
    nodes.sort(),
    [
      ...GROUPS.map((path) => `group /${path}`),
      ...arrays.map(({ path }) => `array /${path}`),
    ].sort(),
  );
  const failures = await failuresOf(
    arrays,
    (path) => readElements(store, path),
  );
  assertFailures(
    failures,
    { ...READING_LIMITS, ...CONSOLIDATED_LIMITS },
    arrays,
  );
}
