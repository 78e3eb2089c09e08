import type { Component } from "./frame.ts";

/** The samples of a component, in rows. */
export interface Plane {
  readonly samples: Uint8ClampedArray;
  /** The number of samples from one row to the next. */
  readonly stride: number;
}

/** Makes the plane of a component, with room for whole blocks. */
export function emptyPlane({ blockStride, blockRows }: Component): Plane {
  const stride = 8 * blockStride;
  return {
    samples: new Uint8ClampedArray(8 * blockRows * stride),
    stride,
  };
}
