/** Arrays of Zarr v2 with all data types, codecs, filters and orders, adopted, and read by other programs. */
import { assert, assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import { migrate, verify } from "../../jobs.ts";
import { FileSystemStore, type Store, v2View } from "../../mod.ts";
import { registerCodecs, withZarrParts } from "../../zarrita.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { readJson } from "../support/documents.ts";
import { testWith } from "../support/tools.ts";
import { PYTHON, runScript } from "./python.ts";

registerCodecs(zarr);

/** What zarr-python and TensorStore find in an array. */
interface Outcome {
  /** `"read"`, or the problem of zarr-python with Zarr v2. */
  readonly v2: string;
  /** `"equal"`, or what differs. */
  readonly v3: string;
  readonly tensorstore: string;
}

testWith(
  PYTHON,
  "zarr-python, TensorStore and zarrita read equal elements of Zarr v2 and of the adopted arrays",
  async (python) => {
    await inTempDir(async (folder) => {
      await runScript(python, "make_v2.py", folder);
      const store = new FileSystemStore(folder);
      const before = await Array.fromAsync(store.list());
      const shown = await zarritaElements(v2View(store));
      const { arrays, written } = await migrate(store);
      assert(arrays.length > 600, `${arrays.length}`);
      const after = await Array.fromAsync(store.list());
      assertEquals(
        after.filter((key) => !before.includes(key)).sort(),
        [...written].sort(),
      );
      assertEquals(await zarritaElements(store), shown);

      const report = `${folder}/report`;
      await runScript(python, "read_v2.py", folder, report);
      const outcomes: Record<string, Outcome> = JSON.parse(
        await Deno.readTextFile(report),
      );
      await Deno.remove(report);
      assertEquals(Object.keys(outcomes).sort(), [...arrays].sort());
      const wrong = Object.entries(outcomes)
        .filter(([, { v2, v3 }]) => v2 !== "read" || v3 !== "equal");
      assertEquals(wrong, []);
      // TensorStore refuses what it does not know, and reads the rest alike.
      let read = 0;
      for (const [path, { tensorstore }] of Object.entries(outcomes)) {
        if (tensorstore === "equal") read++;
        else assert(REFUSED.test(tensorstore), `${path}: ${tensorstore}`);
      }
      assert(read > 250, `${read}`);

      // The elements of zarrita are those of zarr-python.
      await runScript(python, "read_v2.py", folder, report, "elements");
      const expected = await readJson(store, "/report");
      let compared = 0;
      for (const [path, elements] of shown) {
        if (elements === undefined) continue;
        assertEquals(elements, expected[path], path);
        compared++;
      }
      assert(compared > 300, `${compared}`);
      // `zarr migrate v3` says the same, where it says anything and is right.
      await runScript(python, "read_v2.py", folder, report, "migrate");
      const migrated: Record<string, { migrate: string; metadata?: unknown }> =
        await readJson(store, "/report");
      await Deno.remove(report);
      const right = Object.entries(migrated)
        .filter(([, { migrate }]) => migrate === "equal");
      assert(right.length > 200, `${right.length}`);
      for (const [path, { metadata }] of right) {
        assertEquals(metadata, "equal", path);
      }
      const { counts } = await verify(store, "", { deep: true });
      assertEquals(
        Object.keys(counts).sort(),
        [
          "chunk-undecoded",
          "v2-metadata",
        ].filter((rule) => rule in counts),
      );
    });
  },
);

const REFUSED =
  /is not registered|is not one of the supported data types|Error parsing object member "data_type"|Must specify a "field"|^no NumPy elements$/;

/** The elements of all arrays, by path; `undefined` for arrays that zarrita does not know. */
async function zarritaElements(
  store: Store,
): Promise<Map<string, unknown>> {
  const found = new Map<string, unknown>();
  const root = zarr.root(withZarrParts(store));
  for await (const key of store.list!()) {
    const path = /^\/(.+)\/(?:zarr\.json|\.zarray)$/.exec(key)?.[1];
    if (path === undefined || found.has(path)) continue;
    const location = root.resolve(path);
    try {
      const node = await zarr.open.v3(location);
      if (node.kind !== "array") continue;
      if (node.shape.includes(0)) {
        found.set(path, []); // zarrita refuses to read them.
        continue;
      }
      const chunk = await zarr.get(node);
      found.set(
        path,
        node.shape.length === 0
          ? [textOf(chunk)]
          : textsOf(chunk.data, chunk.shape, chunk.stride),
      );
    } catch (error) {
      const { name, message } = error as Error;
      assert(
        /Unknown (?:codec|data type)|Unsupported|UnknownCodec/i
          .test(`${name} ${message}`),
        `${path}: ${name}: ${message}`,
      );
      found.set(path, undefined);
    }
  }
  return found;
}

/** The elements in the order C, as text. */
function textsOf(
  data: unknown,
  shape: readonly number[],
  stride: readonly number[],
): string[] {
  const flat = data as ArrayLike<unknown> & { get?(at: number): unknown };
  const at = (i: number) => flat.get ? flat.get(i) : flat[i];
  const count = shape.reduce((a, b) => a * b, 1);
  return Array.from({ length: count }, (_, i) => {
    let place = 0;
    let rest = i;
    for (let d = shape.length - 1; d >= 0; d--) {
      place += (rest % shape[d]!) * stride[d]!;
      rest = Math.floor(rest / shape[d]!);
    }
    return textOf(at(place));
  });
}

function textOf(value: unknown): string {
  if (typeof value === "object" && value !== null && "re" in value) {
    const { re, im } = value as { re: number; im: number };
    return `${re} ${im}`;
  }
  return String(value);
}
