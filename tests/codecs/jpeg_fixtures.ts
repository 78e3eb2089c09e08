/** A picture of `tests/fixtures/jpeg.json`, and what imagecodecs decodes it to. */
export interface Fixture {
  readonly name: string;
  readonly jpeg: Uint8Array;
  /** The height, the width and the number of samples of a pixel. */
  readonly shape: readonly number[];
  /** The hash of the samples. */
  readonly sha256: string;
}

const path = new URL("../fixtures/jpeg.json", import.meta.url);

type Stored = Record<"name" | "jpeg" | "shape" | "sha256", string>;

/** Pictures of all kinds that are decoded. */
export const FIXTURES: readonly Fixture[] =
  (JSON.parse(await Deno.readTextFile(path)) as Stored[]).map((each) => ({
    ...each,
    jpeg: Uint8Array.fromBase64(each.jpeg),
    shape: each.shape.split("x").map(Number),
  }));

/** Finds a picture by its name. */
export function fixture(name: string): Fixture {
  const found = FIXTURES.find((each) => each.name === name);
  if (found === undefined) throw new Error(`No picture is named ${name}`);
  return found;
}

/** The place of the first marker of this kind. */
export function placeOf(jpeg: Uint8Array, marker: number): number {
  return jpeg.findIndex((byte, i) => byte === 0xff && jpeg[i + 1] === marker);
}
