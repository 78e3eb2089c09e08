import { describe, describeAll } from "../metadata/describe.ts";
import type { TiffOptions } from "./tiff_options.ts";

/** For each option: what it must be, and whether a value is that. */
const OPTIONS: Readonly<
  Record<keyof TiffOptions, readonly [string, (value: unknown) => boolean]>
> = {
  bands: ['"first" or "last"', isOneOf("first", "last")],
  colors: ['"gray" or "rgb"', isOneOf("gray", "rgb")],
  directory: ['"start" or "end"', isOneOf("start", "end")],
  bigTiff: ["true or false", isOneOf(true, false)],
  sparse: ["true or false", isOneOf(true, false)],
  description: ["a text without the character NUL", isText],
  resolution: [
    'x and y from 0 to 2^32−1, and maybe the unit "none", "inch" or "centimeter"',
    isResolution,
  ],
  georeference: [
    "modelPixelScale of 3 numbers, modelTiepoint of 6 numbers, and maybe geoKeyDirectory, geoDoubleParams and geoAsciiParams",
    isGeoreference,
  ],
  noData: [
    "a number or a bigint",
    (value) => typeof value === "number" || typeof value === "bigint",
  ],
};

/** Refuses options that are unknown or of a wrong type. */
export function assertTiffOptions(options: TiffOptions): void {
  if (typeof options !== "object" || options === null) {
    throw new TypeError(
      `Expected the options of a TIFF as an object, found ${describe(options)}`,
    );
  }
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(OPTIONS, name)) {
      throw new TypeError(
        `Unknown option ${describe(name)} of tiffContainer; known are ${
          describeAll(Object.keys(OPTIONS))
        }`,
      );
    }
    const [expected, isValid] = OPTIONS[name as keyof TiffOptions];
    if (value === undefined || isValid(value)) continue;
    throw new TypeError(
      `Expected the option "${name}" to be ${expected}, found ${
        describe(value)
      }`,
    );
  }
}

function isOneOf(...allowed: unknown[]): (value: unknown) => boolean {
  return (value) => allowed.includes(value);
}

function isText(value: unknown): boolean {
  return typeof value === "string" && !value.includes("\0");
}

function isResolution(value: unknown): boolean {
  const { x, y, unit } = Object(value);
  return [x, y].every((n) =>
    typeof n === "number" && n >= 0 && n <= 2 ** 32 - 1
  ) && [undefined, "none", "inch", "centimeter"].includes(unit);
}

function isGeoreference(value: unknown): boolean {
  const {
    modelPixelScale,
    modelTiepoint,
    geoKeyDirectory = [],
    geoDoubleParams = [],
    geoAsciiParams = "",
  } = Object(value);
  return areNumbers(modelPixelScale, 3) && areNumbers(modelTiepoint, 6) &&
    areNumbers(geoKeyDirectory) &&
    geoKeyDirectory.every((n: number) =>
      Number.isInteger(n) && n >= 0 && n <= 0xffff
    ) && areNumbers(geoDoubleParams) && isText(geoAsciiParams);
}

function areNumbers(value: unknown, count?: number): boolean {
  return Array.isArray(value) &&
    value.every((n) => typeof n === "number" && Number.isFinite(n)) &&
    (count === undefined || value.length === count);
}
