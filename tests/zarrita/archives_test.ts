import { assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import {
  FileSystemStore,
  HttpStore,
  MemoryStore,
  type StoreKey,
} from "../../mod.ts";
import { registerCodecs, withZarrParts } from "../../zarrita.ts";
import { ZipStore } from "../../zip.ts";
import { makeArchive } from "../zip/archives.ts";
import { storeHandler } from "../stores/loopback.ts";

registerCodecs(zarr);

const DEM = new FileSystemStore(
  new URL("../fixtures/dem.zarr", import.meta.url),
);

Deno.test("zarrita reads inner chunks of an archive over HTTP by few requests", async () => {
  const keys: StoreKey[] = await Array.fromAsync(DEM.list());
  const entries = await Promise.all(keys.map(async (key) => ({
    name: key.slice(1),
    content: (await DEM.get(key))!,
  })));
  // So that only the directory is in the bytes that are read first.
  entries.push({ name: "notes", content: new Uint8Array(200_000) });
  const files = new MemoryStore([["/dem.zarr.zip", makeArchive(entries)]]);
  const handler = storeHandler(files);
  const requests: string[] = [];
  const store = new HttpStore("https://example.org", {
    fetch(request) {
      requests.push(`${request.method} ${request.headers.get("range")}`);
      return handler(request);
    },
  });
  const archive = withZarrParts(new ZipStore(store, "/dem.zarr.zip"));
  const array = await zarr.open(archive, { kind: "array" });
  // The directory, and zarr.json.
  assertEquals(requests.splice(0).length, 2);
  const expected = await zarr.open(withZarrParts(DEM), { kind: "array" });
  const selections = [[0, 40], [40, 80], [0, 40]].map((
    [start, end],
  ) => [zarr.slice(0, 32), zarr.slice(start!, end!)]);
  // The index and an inner chunk: the server tells no versions to keep indexes by.
  for (const [i, count] of [2, 2, 2].entries()) {
    const selection = selections[i]!;
    assertEquals(
      (await zarr.get(array, selection)).data,
      (await zarr.get(expected, selection)).data,
    );
    assertEquals(requests.splice(0).length, count, `selection ${i}`);
  }
});
