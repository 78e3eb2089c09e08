import { assert, assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import { MemoryStore, openArrayChunks, type Store } from "../../mod.ts";
import { registerCodecs, withZarrParts } from "../../zarrita.ts";
import { Exchange, type ExchangedArray, PEERS } from "../interop/exchange.ts";
import { failuresOf } from "../interop/outcomes.ts";
import { PYTHON } from "../interop/python.ts";
import { readElements } from "../interop/read_elements.ts";
import { copyPlain } from "../interop/store_again.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { readJson, utf8 } from "../support/documents.ts";
import { testWith } from "../support/tools.ts";
import { type CodeBlock, codeBlocksOf, readPages } from "./pages.ts";
import { runExample } from "./run_example.ts";

type ListedStore = Required<Pick<Store, "get" | "list">>;

registerCodecs(zarr.registry);

const BLOCKS = (await readPages()).flatMap(codeBlocksOf);
const [ZARR_PYTHON] = PEERS;

/** Matches code that creates an array, and JSON that is the metadata of an array. */
const MAKES_ARRAY =
  /createArrayChunks\(|arrayMetadata\(|"?node_type"?: "array"/;

testWith(
  PYTHON,
  "zarr-python reads every array of the documentation",
  async (python, t) => {
    let count = 0;
    for (const block of BLOCKS) {
      const mustHaveArray = MAKES_ARRAY.test(block.code);
      assert(!(mustHaveArray && block.isIgnored), `${block.name} does not run`);
      const runs = block.language === "ts" && !block.isIgnored;
      if (!runs && !mustHaveArray) continue;
      await t.step(block.name, () =>
        inTempDir(async (folder) => {
          const arrays = await exportArrays(block, folder);
          assert(
            arrays.length > 0 || !mustHaveArray,
            "The array is in no store of this package, so it was not seen",
          );
          if (arrays.length === 0) return;
          const exchange = new Exchange(folder, arrays);
          const read = await exchange.read(python, ZARR_PYTHON!);
          assertEquals(await failuresOf(arrays, read), {});
          count += arrays.length;
        }));
    }
    assert(count >= 10, `The documentation has only ${count} arrays`);
  },
);

/** Copies the plain views of all stores of a block into a folder. */
async function exportArrays(
  block: CodeBlock,
  folder: string,
): Promise<ExchangedArray[]> {
  const arrays: ExchangedArray[] = [];
  let stores = 0;
  const { store: target } = new Exchange(folder, []);
  const exportStore = async (store: ListedStore) => {
    const prefix = `${stores++}`;
    for (const path of await arrayPaths(store)) {
      const { metadata } = await openArrayChunks(store, path);
      arrays.push({
        path: path === "" ? prefix : `${prefix}/${path}`,
        metadata,
        byDefault: false,
        elements: await readElements(withZarrParts(store), path),
      });
    }
    await copyPlain(store, {
      set: (key, bytes) => target.set(`/${prefix}${key}`, bytes),
    });
  };
  if (block.language === "ts") {
    await runExample(block, exportStore);
  } else {
    const store = new MemoryStore();
    await store.set("/zarr.json", utf8(block.code));
    await exportStore(store);
  }
  return arrays;
}

/** Returns the paths of all arrays in a store. */
async function arrayPaths(store: ListedStore): Promise<string[]> {
  const paths: string[] = [];
  for await (const key of store.list()) {
    if (!key.endsWith("/zarr.json")) continue;
    const { node_type } = await readJson(store, key);
    if (node_type === "array") paths.push(key.slice(1, -"/zarr.json".length));
  }
  return paths;
}
