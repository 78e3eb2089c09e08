import { rootOf } from "../../stores/file_system/store_roots.ts";
import type { StoreOptions } from "../../stores/store.ts";
import type { Claim } from "./claim_target.ts";
import type { ConvertPlan } from "../plan/convert_plan.ts";
import { describePlace, type Place } from "../hierarchy/node_location.ts";
import { readMarker } from "../plan/unfinished_marker.ts";

/** Refuses a target in the source or the other way round, where the stores tell it. */
export async function assertApart(source: Place, target: Place): Promise<void> {
  const [from, to] = source.store === target.store
    ? [source.root, target.root]
    : await Promise.all([source, target].map(realFolder));
  if (from === undefined || to === undefined) return;
  if (from === to) throw ontoItself(source);
  const [one, other] = [from, to].map((path) => path.replace(/[\\/]?$/, "/"));
  if (!one!.startsWith(other!) && !other!.startsWith(one!)) return;
  throw inOneAnother(source, target);
}

/** The real path of a place in a file store. */
async function realFolder({ store, root }: Place): Promise<string | undefined> {
  return await rootOf(store)?.root.realFolder(root);
}

function ontoItself(place: Place): RangeError {
  const canChange = rootOf(place.store) !== undefined;
  return new RangeError(
    `Cannot convert ${
      describePlace(place)
    } onto itself; expected another target${
      canChange
        ? ", or convertInPlace, which changes the files where they are"
        : ""
    }`,
  );
}

function inOneAnother(source: Place, target: Place): RangeError {
  return new RangeError(
    `Cannot convert ${describePlace(source)} to ${
      describePlace(target)
    }, since they lie in one another; expected a target outside of the source`,
  );
}

/** Refuses a target that turns out to lie in the source: its marker is there. */
export async function assertTargetOutside(
  { source, target }: ConvertPlan,
  markers: readonly string[],
  { marker, undo }: Claim,
  options: StoreOptions,
): Promise<void> {
  if (marker === undefined) return;
  for (const key of markers) {
    const root = key.slice(0, key.lastIndexOf("/")) as Place["root"];
    const place = { store: source.store, root };
    const found = await readMarker(place, options);
    if (found?.run !== marker.run) continue;
    await undo();
    throw inOneAnother(source, target);
  }
}
