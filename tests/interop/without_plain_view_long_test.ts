import { assertMatch } from "@std/assert";
import { createArrayChunks } from "../../mod.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { concatParts } from "../support/metadata.ts";
import { Exchange, PEERS } from "./exchange.ts";
import { interopArray } from "./interop_array.ts";
import { failuresOf } from "./outcomes.ts";
import { PYTHON } from "./python.ts";
import { testWith } from "../support/tools.ts";

/** Metadata that peers refuse, and their errors. */
const EXTENSIONS = {
  suffix: {
    changes: {
      chunk_key_encoding: { name: "suffix", configuration: { suffix: ".x" } },
    },
    error: /chunk.key.encoding.*suffix/i,
  },
  parts: {
    changes: {
      storage_transformers: [
        concatParts({ key_suffix: "" }, { key_suffix: ".tail", size: 4 }),
      ],
    },
    error: /storage transformers/i,
  },
};

for (const peer of PEERS) {
  testWith(
    PYTHON,
    `${peer.name} refuses arrays with suffixes or parts without a plain view`,
    async (python) => {
      await inTempDir(async (folder) => {
        const arrays = Object.keys(EXTENSIONS).map((path) =>
          interopArray(path)
        );
        const exchange = new Exchange(folder, arrays);
        for (const [path, { changes }] of Object.entries(EXTENSIONS)) {
          const { metadata } = interopArray(path);
          await createArrayChunks(exchange.store, path, {
            ...metadata,
            ...changes,
          });
        }
        const failures = await failuresOf(
          arrays,
          await exchange.read(python, peer),
        );
        for (const [path, { error }] of Object.entries(EXTENSIONS)) {
          assertMatch(failures[path] ?? "", error);
        }
      });
    },
  );
}
