import type { StoreOptions } from "../../stores/store.ts";
import type { Claim } from "./claim_target.ts";
import type { ConvertPlan } from "../plan/convert_plan.ts";
import { describePlace, type Place } from "../hierarchy/node_location.ts";
import { readMarker } from "../plan/unfinished_marker.ts";

/** Refuses a target in the source or the other way round, in the same store. */
export function assertApart(source: Place, target: Place): void {
  if (source.store !== target.store) return;
  const [one, other] = [source, target].map(({ root }) => `${root}/`);
  if (!one!.startsWith(other!) && !other!.startsWith(one!)) return;
  throw inOneAnother(source, target);
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
