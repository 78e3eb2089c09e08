import { MemoryStore } from "../../mod.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { Exchange, PEERS } from "./exchange.ts";
import { GROUPS, MATRIX } from "./matrix.ts";
import { assertFailures, failuresOf } from "./outcomes.ts";
import { CANNOT_READ, CANNOT_WRITE } from "./peer_limits.ts";
import { PYTHON } from "./python.ts";
import { testWith } from "../support/tools.ts";
import { STORAGE_WAYS } from "./storage_ways.ts";
import { copyPlain, storeArrayAgain, storeGroupsAgain } from "./store_again.ts";
import { ZARRITA_LIMITS } from "./zarrita_limits.ts";

/** The arrays that zarrita cannot read or write, so that the other tests leave them out. */
const ARRAYS = MATRIX.filter(({ path }) =>
  path in ZARRITA_LIMITS || path in CANNOT_WRITE.zarrita!
);

for (const writer of PEERS) {
  testWith(
    PYTHON,
    `plainView lets peers read arrays of ${writer.name} that zarrita cannot read, stored again in parts`,
    async (python, t) => {
      await inTempDir(async (folder) => {
        const original = new Exchange(`${folder}/original`, ARRAYS);
        const refused = await original.write(python, writer, GROUPS);
        assertFailures(refused, CANNOT_WRITE[writer.name]!, ARRAYS);
        const arrays = ARRAYS.filter(({ path }) => !(path in refused));
        const stored = new MemoryStore();
        const ways = Object.values(STORAGE_WAYS);
        for (const [i, { path }] of arrays.entries()) {
          const way = ways[i % ways.length]!;
          await storeArrayAgain(original.store, stored, path, way);
        }
        await storeGroupsAgain(original.store, stored, GROUPS);
        const copy = new Exchange(`${folder}/copy`, arrays);
        await copyPlain(stored, copy.store);
        for (const reader of PEERS) {
          await t.step(`by ${reader.name}`, async () => {
            const failures = await failuresOf(
              arrays,
              await copy.read(python, reader),
            );
            assertFailures(failures, CANNOT_READ[reader.name]!, arrays);
          });
        }
      });
    },
  );
}
