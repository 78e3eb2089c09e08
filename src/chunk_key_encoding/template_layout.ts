import { MOST_DIMENSIONS } from "../metadata/array_metadata.ts";
import {
  expand,
  type Format,
  invalid,
  type Placeholder,
} from "./template_format.ts";

/** The place of a coordinate in keys. */
interface Field {
  readonly dimension: number;
  /** The least number of digits. */
  readonly width: number;
  /** Whether the coordinate has no more digits either, since it stands beside another. */
  readonly isFixed: boolean;
  readonly text: string;
}

/** A format for one number of dimensions. */
export interface Layout {
  readonly rank: number;
  /** One more than fields. */
  readonly texts: readonly string[];
  readonly fields: readonly Field[];
  /** Matches all keys and some more texts; the groups are the digits of the fields. */
  readonly pattern: RegExp;
}

/** The greatest number of dimensions for which an error shows a format. */
const MOST_SHOWN = 5;

/**
 * Assigns each dimension to a placeholder.
 *
 * @throws {RangeError} If the format does not have each dimension exactly once.
 */
export function layoutOf(
  source: string,
  format: Format,
  separator: string,
  rank: number,
): Layout {
  const { length: least } = format.placeholders;
  const most = hasRest(format) ? MOST_DIMENSIONS : least;
  if (rank < least || rank > most) {
    throw invalid(
      source,
      `is for rank ${
        least === most ? least : `${least} to ${most}`
      }, found ${rank}; expected a placeholder for each dimension${
        rank > 0 && rank <= MOST_SHOWN
          ? `, such as "${
            Array.from({ length: rank }, (_, i) => `{${i}}`).join("_")
          }"`
          : ""
      }`,
    );
  }
  const dimensions = dimensionsOf(source, format, rank);
  const { texts, placeholders } = expand(format, separator, rank - least + 1);
  const fields = placeholders.map(({ text, width }, i) => ({
    dimension: dimensions[i]!,
    width: width || 1,
    isFixed: width > 0 &&
      (i > 0 && texts[i] === "" ||
        i < placeholders.length - 1 && texts[i + 1] === ""),
    text,
  }));
  const pattern = fields.map(({ width, isFixed }, i) =>
    `([0-9]{${width}${isFixed ? "" : ","}})${escape(texts[i + 1]!)}`
  );
  return {
    rank,
    texts,
    fields,
    pattern: new RegExp(`^${escape(texts[0]!)}${pattern.join("")}$`),
  };
}

/** Whether a format has the placeholder `{*}`, for all dimensions that no other names. */
export function hasRest({ placeholders }: Format): boolean {
  return placeholders.some(({ index }) => index === "*");
}

/** Returns the dimension of each placeholder, in their order, with the others at `{*}`. */
function dimensionsOf(
  source: string,
  { placeholders }: Format,
  rank: number,
): number[] {
  const named = new Map<number, Placeholder>();
  const places = placeholders.map((placeholder) => {
    const { text, index } = placeholder;
    if (index === "*") return index;
    const dimension = index < 0 ? rank + index : index;
    if (dimension < 0 || dimension >= rank) {
      throw invalid(
        source,
        `holds ${text}, which is out of range for rank ${rank}`,
      );
    }
    const other = named.get(dimension);
    if (other !== undefined) {
      throw invalid(
        source,
        `holds ${other.text} and ${text}, which are the same dimension for rank ${rank}`,
      );
    }
    named.set(dimension, placeholder);
    return dimension;
  });
  return places.flatMap((place) =>
    place === "*"
      ? Array.from({ length: rank }, (_, dimension) => dimension)
        .filter((dimension) => !named.has(dimension))
      : place
  );
}

function escape(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}
