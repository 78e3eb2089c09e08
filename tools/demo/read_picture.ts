import * as zarr from "zarrita";
import type { Store } from "../../mod.ts";
import { withZarrParts } from "../../zarrita.ts";
import type { Picture } from "./store_as_tiffs.ts";

/** Reads a whole array of int16 or uint8 through zarrita. */
export async function readPicture(
  store: Store,
): Promise<Pick<Picture, "shape" | "elements" | "fillValue" | "attributes">> {
  const array = await zarr.open.v3(withZarrParts(store), { kind: "array" })
    .catch((cause) => {
      throw new Error(`No array can be opened in ${store}`, { cause });
    });
  if (!array.is("int16") && !array.is("uint8")) {
    throw new TypeError(
      `Expected an array of int16 or uint8, found ${array.dtype}`,
    );
  }
  const { data } = await zarr.get(array);
  const { shape, fillValue, attrs } = array;
  return {
    shape,
    elements: data,
    fillValue: fillValue ?? 0,
    attributes: attrs,
  };
}
