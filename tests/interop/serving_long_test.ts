/** Clients of other projects, and what they read from `createHandler`. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import * as zarr from "zarrita";
import {
  arrayMetadata,
  createArrayChunks,
  FileSystemStore,
  MemoryStore,
} from "../../mod.ts";
import { createHandler, type ServedForm } from "../../serve.ts";
import { snippetsFor } from "../../src/cli/page/array_page.ts";
import { registerCodecs } from "../../zarrita.ts";
import { serve } from "../stores/loopback.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { encodeJson } from "../support/documents.ts";
import { testWith } from "../support/tools.ts";
import { failuresOf } from "./outcomes.ts";
import { PYTHON, runScript } from "./python.ts";
import { makeServedArrays, type ServedArray } from "./served_arrays.ts";

registerCodecs(zarr.registry);

/** A program that reads arrays over HTTP. */
interface Client {
  readonly name: string;
  /** How the handler shows arrays to the client. */
  readonly form: ServedForm;
  /** How `read_served.py` opens an array; the client runs here if there is none. */
  open?(url: string, rank: number): { code: string } | { gdal: string };
  /**
   * By path, the most requests that reading takes, or a part of the error of a client
   * that cannot read the array. Other arrays are not read.
   */
  readonly arrays: Readonly<Record<string, number | string>>;
}

/** The code that the page of an array shows for a program. */
function snippet(program: string, url: string, rank = 2): string {
  const snippets = snippetsFor(url, rank, true);
  return snippets.find((each) => each.program === program)!.code;
}

const OBSTORE = (url: string) =>
  `import zarr
from obstore.store import HTTPStore
store = HTTPStore.from_url("${url}", client_options={"allow_http": True})
array = zarr.open_array(zarr.storage.ObjectStore(store, read_only=True), mode="r")`;

const ZARR_PYTHON = {
  "parts.zarr": 64,
  "dem.zarr": 25,
  "relief.zarr": 25,
  "checked.zarr": 7,
  "packed.zarr": 11,
};

const CLIENTS: readonly Client[] = [
  {
    name: "zarr-python, fsspec",
    form: "plain",
    open: (url, rank) => ({ code: snippet("zarr-python", url, rank) }),
    arrays: ZARR_PYTHON,
  },
  {
    name: "zarr-python, obstore",
    form: "plain",
    open: (url) => ({ code: OBSTORE(url) }),
    arrays: ZARR_PYTHON,
  },
  {
    name: "TensorStore",
    form: "plain",
    open: (url, rank) => ({ code: snippet("TensorStore", url, rank) }),
    arrays: {
      "parts.zarr": 19,
      "dem.zarr": '"numcodecs.zlib" is not registered',
      "relief.zarr": '"numcodecs.zlib" is not registered',
      "checked.zarr": 5,
      "packed.zarr": '"packbits" is not registered',
    },
  },
  {
    name: "zarrita",
    form: "plain",
    arrays: {
      "parts.zarr": 146,
      "dem.zarr": 51,
      "relief.zarr": 51,
      "checked.zarr": 5,
      "packed.zarr": 13,
    },
  },
  {
    name: "GDAL, inner chunks",
    form: "inner chunks",
    open: (url, rank) => ({
      gdal: /'(.*)'/.exec(snippet("GDAL", url, rank))![1]!,
    }),
    arrays: await hasNewGdal()
      ? {
        // Threads of GDAL may ask for the length of each of the 120 inner chunks first.
        "parts.zarr": 2 * 120 + 22,
        "dem.zarr": "Unsupported codec: numcodecs.zlib",
        "checked.zarr": "Unsupported codec: crc32c",
        "packed.zarr": "Unsupported codec: packbits",
      }
      : { "parts.zarr": "Unsupported codec: bytes" },
  },
  {
    name: "GDAL, TIFF",
    form: "stored",
    open: (url) => ({ gdal: `/vsicurl/${url}` }),
    arrays: { "dem.zarr/c/0/0.tiff": 13 },
  },
];

/** Whether GDAL reads arrays by the final specification of Zarr v3. */
async function hasNewGdal(): Promise<boolean> {
  if ("missing" in PYTHON) return false;
  const { stdout } = await new Deno.Command(PYTHON.path, {
    args: ["-c", "import rasterio; print(rasterio.__gdal_version__)"],
  }).output();
  const [major, minor] = new TextDecoder().decode(stdout).split(".").map(
    Number,
  );
  return major! > 3 || minor! >= 12;
}

testWith(
  PYTHON,
  "clients of other projects read what createHandler serves, by few requests",
  async (python, t) => {
    await inTempDir(async (folder) => {
      const arrays = await makeServedArrays(folder);
      const store = new FileSystemStore(folder);
      for (const client of CLIENTS) {
        await t.step(client.name, async () => {
          const { form } = client;
          const handler = createHandler(store, { form });
          const requests: Record<string, number> = {};
          const server = serve((request) => {
            const { pathname } = new URL(request.url);
            const name = decodeURIComponent(pathname).split("/")[1]!;
            requests[name] = (requests[name] ?? 0) + 1;
            return handler(request);
          });
          try {
            const read = client.open
              ? await readByPython(python, folder, server.url, client, arrays)
              : (array: ServedArray) => readByZarrita(server.url, array);
            const chosen = arrays.filter(({ path }) => path in client.arrays);
            assertEquals(chosen.length, Object.keys(client.arrays).length);
            const failures = await failuresOf(
              chosen,
              (path) => read(chosen.find((each) => each.path === path)!),
            );
            for (const [path, expected] of Object.entries(client.arrays)) {
              if (typeof expected === "string") {
                assertStringIncludes(failures[path] ?? "", expected);
                continue;
              }
              assertEquals(failures[path], undefined, path);
              const count = requests[path.split("/")[0]!] ?? 0;
              assert(
                count > 0 && count <= expected,
                `${path}: ${count} requests, expected at most ${expected}`,
              );
            }
          } finally {
            await server.close();
          }
        });
      }
    });
  },
);

async function readByZarrita(
  url: string,
  { path, window }: ServedArray,
): Promise<Uint8Array> {
  const store = new zarr.FetchStore(`${url}/${path}`);
  const array = await zarr.open.v3(store, { kind: "array" });
  const slices = window.map(([start, stop]) => zarr.slice(start, stop));
  const { data } = await zarr.get(array, slices.length > 0 ? slices : null);
  return new Uint8Array((data as Uint8Array).buffer);
}

/** Lets a client in Python read arrays; returns a function for the elements of one, which rejects with the client's error. */
async function readByPython(
  python: string,
  folder: string,
  url: string,
  { name, open, arrays: chosen }: Client,
  arrays: readonly ServedArray[],
): Promise<(array: ServedArray) => Promise<Uint8Array>> {
  const listing = `${folder}/listing.json`;
  const file = (path: string) =>
    `${folder}/${path.replaceAll("/", "-")}.elements`;
  await Deno.writeTextFile(
    listing,
    JSON.stringify({
      client: name,
      arrays: arrays.filter(({ path }) => path in chosen).map(
        ({ path, shape, window }) => ({
          path,
          window,
          file: file(path),
          ...open!(`${url}/${path}`, shape.length),
        }),
      ),
    }),
  );
  await runScript(python, "read_served.py", listing);
  const refused = JSON.parse(await Deno.readTextFile(`${listing}.refused`));
  return ({ path }) =>
    path in refused ? Promise.reject(refused[path]) : Deno.readFile(file(path));
}
void assert;
void assertEquals;

testWith(
  PYTHON,
  "zarr-python and xarray find the arrays of a served group that has no consolidated metadata",
  async (python) => {
    const store = new MemoryStore();
    const group = encodeJson({ zarr_format: 3, node_type: "group" });
    await store.set("/zarr.json", group);
    await store.set("/inner/zarr.json", group);
    const values = { dem: [1, 2, 3, 4], "inner/wind": [5, 6, 7, 8] };
    for (const [path, bytes] of Object.entries(values)) {
      const metadata = arrayMetadata({
        shape: [4],
        dataType: "uint8",
        chunkShape: [2],
        suffix: ".bin",
        dimensionNames: ["x"],
      });
      const chunks = await createArrayChunks(store, path, metadata);
      await chunks.set([0], Uint8Array.from(bytes.slice(0, 2)));
      await chunks.set([1], Uint8Array.from(bytes.slice(2)));
    }
    const server = serve(createHandler(store));
    try {
      await runScript(python, "served_group.py", server.url);
    } finally {
      await server.close();
    }
  },
);
