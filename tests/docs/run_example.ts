import type { Store } from "../../mod.ts";
import type { CodeBlock } from "./pages.ts";
import { recorded } from "./recording.ts";

const ADAPTER = import.meta.resolve("../../zarrita.ts");
const TIFF = import.meta.resolve("../../tiff.ts");
const ZIP = import.meta.resolve("../../zip.ts");
const RECORDING = import.meta.resolve("./recording.ts");

/**
 * Runs an example of the documentation.
 *
 * @param onStore Is called with each store that the example constructed, when the
 * example has ended or is about to remove its folder.
 */
export async function runExample(
  { code }: CodeBlock,
  onStore: (store: Required<Pick<Store, "get" | "list">>) => Promise<void>,
): Promise<void> {
  const program = code
    .replaceAll('"@zarr-parts/zarr-parts/zarrita"', JSON.stringify(ADAPTER))
    .replaceAll('"@zarr-parts/zarr-parts/tiff"', JSON.stringify(TIFF))
    .replaceAll('"@zarr-parts/zarr-parts/zip"', JSON.stringify(ZIP))
    .replaceAll('"@zarr-parts/zarr-parts"', JSON.stringify(RECORDING));
  const takeStores = async () => {
    for (const store of recorded.splice(0)) await onStore(store);
  };
  const { remove } = Deno;
  Deno.remove = async (path, options) => {
    if (options?.recursive) await takeStores();
    await remove(path, options);
  };
  try {
    await import(
      `data:application/typescript,${encodeURIComponent(program)}`
    );
    await takeStores();
  } finally {
    Deno.remove = remove;
  }
}
