/** Red, green, blue and alpha of each pixel, row by row from the north. */
export interface Image {
  readonly data: Uint8ClampedArray;
  readonly width: number;
  readonly height: number;
}
