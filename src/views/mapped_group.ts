import { assertInGroup } from "../stores/assert_in_group.ts";
import type {
  ByteRange,
  GetOptions,
  Store,
  StoreKey,
  StoreOptions,
} from "../stores/store.ts";
import type {
  GroupValues,
  StoreGroup,
  StoreVersion,
} from "../stores/store_group.ts";

/** Where the values of a store of mapped keys are stored. */
export interface Places {
  /** Returns where a value is stored; `undefined` for a key that is not shown. */
  placeOf(key: StoreKey): StoreKey | undefined;
  /** Returns where a value is stored, and refuses a key that is not shown. */
  placeToChange(key: StoreKey): StoreKey;
}

/**
 * Returns a group of values of a store of mapped keys: the group of the values' places.
 * The lock is that of the place of the chunk's key, so that stores that show the values
 * by other keys have the same one.
 */
export function mappedGroup(
  store: Required<Pick<Store, "group">>,
  places: Places,
  key: StoreKey,
  keys: readonly StoreKey[],
): StoreGroup {
  const shown = keys.map((each) => places.placeOf(each))
    .filter((place) => place !== undefined);
  const below = store.group(places.placeOf(key) ?? key, shown);
  return groupOver(below, places, keys);
}

function groupOver(
  below: StoreGroup,
  places: Places,
  keys: readonly StoreKey[],
): StoreGroup {
  const areHidden = keys.every((key) => places.placeOf(key) === undefined);
  const assertShown = () => keys.forEach((key) => places.placeToChange(key));
  return {
    read: (task, options) =>
      areHidden ? task(new MappedValues(undefined, places, keys)) : below.read(
        (values) => task(new MappedValues(values, places, keys)),
        options,
      ),
    ...below.write && {
      async write(options) {
        assertShown();
        const writer = await below.write!(options);
        return {
          set: (key, bytes) => writer.set(places.placeToChange(key), bytes),
          writer: (key) => writer.writer(places.placeToChange(key)),
          close: () => writer.close(),
          abort: (reason) => writer.abort(reason),
        };
      },
    },
    ...below.delete && {
      async delete(options) {
        assertShown();
        await below.delete!(options);
      },
    },
    ...below.lock && {
      async lock(task, options) {
        assertShown();
        return await below.lock!(
          (locked) => task(groupOver(locked, places, keys)),
          options,
        );
      },
    },
  };
}

/** The values of a group under the keys that are shown. */
class MappedValues implements GroupValues {
  readonly #below: GroupValues | undefined;
  readonly #places: Places;
  readonly #keys: readonly StoreKey[];

  /** @param below The values by their places; `undefined` if none of the keys is shown. */
  constructor(
    below: GroupValues | undefined,
    places: Places,
    keys: readonly StoreKey[],
  ) {
    this.#below = below;
    this.#places = places;
    this.#keys = keys;
  }

  get(key: StoreKey, options?: GetOptions): Promise<Uint8Array | undefined> {
    return this.#read(key, (values, place) => values.get(place, options));
  }

  getRange(
    key: StoreKey,
    range: ByteRange,
    options?: StoreOptions,
  ): Promise<Uint8Array | undefined> {
    return this.#read(
      key,
      (values, place) => values.getRange(place, range, options),
    );
  }

  stream(
    key: StoreKey,
    options?: StoreOptions,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    return this.#read(key, (values, place) => values.stream(place, options));
  }

  size(key: StoreKey, options?: StoreOptions): Promise<number | undefined> {
    return this.#read(key, (values, place) => values.size(place, options));
  }

  version(key: StoreKey): StoreVersion | undefined {
    // Groups over other groups also tell the versions of parts of their values.
    const place = this.#places.placeOf(key);
    return place && this.#below?.version(place);
  }

  async #read<T>(
    key: StoreKey,
    read: (values: GroupValues, place: StoreKey) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    assertInGroup(this.#keys, key);
    const place = this.#places.placeOf(key);
    return place && this.#below && await read(this.#below, place);
  }
}
