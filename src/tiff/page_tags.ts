import type { TagValues } from "./directory_reader.ts";
import { TAG } from "./tiff_tags.ts";

/** The values of the tags of a directory. */
export class PageTags {
  readonly #values: ReadonlyMap<number, TagValues>;

  constructor(values: ReadonlyMap<number, TagValues>) {
    this.#values = values;
  }

  list(tag: keyof typeof TAG): readonly number[] | undefined {
    const values = this.#values.get(TAG[tag]);
    return values && Array.from(values);
  }

  /** The first value of a tag, or another one where the tag is missing. */
  number(tag: keyof typeof TAG, missing: number): number {
    return this.#values.get(TAG[tag])?.[0] ?? missing;
  }

  /** The one value that a tag has for all bands; `undefined` if these differ. */
  same(tag: keyof typeof TAG, missing: number): number | undefined {
    const values = this.list(tag) ?? [missing];
    return values.every((value) => value === values[0]) ? values[0] : undefined;
  }

  text(tag: keyof typeof TAG): string | undefined {
    const values = this.list(tag);
    if (values === undefined) return undefined;
    const end = values.indexOf(0);
    const bytes = Uint8Array.from(end < 0 ? values : values.slice(0, end));
    return new TextDecoder().decode(bytes);
  }
}
