import { html } from "hono/html";
import type { InspectedArray } from "../../jobs/mod.ts";
import type { Members } from "../../metadata/mod.ts";
import { runConcurrently } from "../../runtime/mod.ts";
import { nameOf } from "../draw_array.ts";
import { countText, shapeText, unitsText } from "../format.ts";
import {
  choosePictureAxes,
  type DescribedArray,
  pictureBox,
} from "./drawings.ts";
import {
  documentOf,
  explain,
  inspectArray,
  type PageRequest,
  shapeOf,
  type TreeNode,
  urlOf,
} from "./hierarchy.ts";
import { fieldList, type Html, muted } from "./templates.ts";
import {
  channelsOf,
  defaultPlaneOf,
  type Multiscale,
  type MultiscaleLevel,
  multiscalesOf,
  pixelSizes,
} from "../../hierarchy/mod.ts";

/** The number of levels whose documents are read at once. */
const AT_ONCE = 8;

/** The parts of the page of a group that show its levels. */
interface DescribedMultiscales {
  readonly picture: Html;
  readonly levels: Html;
  /** The level that the script of the page draws; `undefined` if no level can be read. */
  readonly pictured: DescribedArray | undefined;
}

/** A level whose array was read. */
interface ReadLevel extends MultiscaleLevel {
  /** The array, or the reason for which there is none. */
  readonly array: InspectedArray | string;
}

/** An image whose levels were read. */
interface ReadImage extends Multiscale {
  readonly levels: readonly ReadLevel[];
}

/**
 * Describes the levels of a group, with the picture of the smallest level of the first image
 * that can be read; `undefined` for groups without levels.
 */
export async function describeMultiscales(
  request: PageRequest,
  attributes: Members,
  signal: AbortSignal,
): Promise<DescribedMultiscales | undefined> {
  const multiscales = multiscalesOf(attributes, request.path);
  if (multiscales.length === 0) return undefined;
  const paths = new Set(
    multiscales.flatMap(({ levels }) =>
      levels.flatMap(({ path }) => path ?? [])
    ),
  );
  const read = new Map<string, InspectedArray | string>();
  await runConcurrently(paths, AT_ONCE, async (path) => {
    const level = await readLevel(request, path, signal)
      .catch((error) => explain(request, error, documentOf(path)));
    read.set(path, level);
  });
  const images = multiscales.map((image): ReadImage => ({
    ...image,
    levels: image.levels.map((level) => ({
      ...level,
      array: level.path === undefined
        ? "not below this group"
        : read.get(level.path)!,
    })),
  }));
  const levels = html`${images.map((image) => describeImage(image, request))}`;
  for (const image of images) {
    const smallest = smallestLevel(image);
    if (smallest === undefined) continue;
    const { name, array } = smallest;
    const url = urlOf(request.root, array.path);
    const count = image.levels.length;
    const which = count === 1
      ? "The only level"
      : `The smallest of ${countText(count)} levels`;
    const note = muted(html`${which}, <a href="${url}">${name}</a>.`);
    const pictured = pictureOf(image, attributes, array, url);
    return { picture: pictureBox(note), levels, pictured };
  }
  const picture = muted("No level can be read.");
  return { picture, levels, pictured: undefined };
}

/** Reads the array of a level: the level itself, or the largest array in a group. */
async function readLevel(
  request: PageRequest,
  path: string,
  signal: AbortSignal,
): Promise<InspectedArray | string> {
  const { nodes, gap } = request.hierarchy;
  const node = nodes.find((node) => node.path === path);
  const sizeOf = (node: TreeNode) => {
    const shape = shapeOf(node)!;
    return shape.reduce(
      (product, length) => product * length,
      shape.length && 1,
    );
  };
  const [largest] = node && node.kind !== "group" ? [node] : nodes
    .filter(({ kind, path: other }) =>
      kind === "array" && other.startsWith(`${path}/`) &&
      !other.slice(path.length + 1).includes("/")
    )
    .sort((a, b) => sizeOf(b) - sizeOf(a));
  if (largest === undefined && node) return "a group without arrays";
  if (largest === undefined && gap === undefined) {
    return "there is no such node";
  }
  const array = await inspectArray(
    request,
    largest?.path ?? path,
    signal,
    null,
  );
  return array.kind === "array" ? array : "not an array";
}

/** The last of the smallest levels of an image; `undefined` if none can be read. */
function smallestLevel(
  { levels }: ReadImage,
): { name: string; array: InspectedArray } | undefined {
  const arrays = levels.flatMap(({ name, array }) =>
    typeof array === "string" ? [] : [{ name, array }]
  );
  const countOf = ({ metadata: { shape } }: InspectedArray) =>
    shape.reduce((product, length) => product * length, 1);
  const least = Math.min(...arrays.map(({ array }) => countOf(array)));
  return arrays.findLast(({ array }) => countOf(array) === least);
}

/** Describes the picture of a level for the script of the page. */
function pictureOf(
  { axes, levels }: ReadImage,
  attributes: Members,
  array: InspectedArray,
  url: string,
): DescribedArray {
  const { metadata: { shape, dimension_names, data_type } } = array;
  const isNamed = axes.length === shape.length;
  const names = isNamed
    ? axes.map(({ name }) => name)
    : dimension_names ?? shape.map(() => null);
  const ofColors = choosePictureAxes(shape, names, data_type);
  const type = isNamed ? axes[ofColors.colors ?? -1]?.type : undefined;
  const chosen = type === undefined || type === "channel"
    ? ofColors
    : choosePictureAxes(shape, names, undefined);
  const colors = isNamed
    ? axes.findIndex(({ type }) => type === "channel")
    : -1;
  const isShown = colors === chosen.rows || colors === chosen.columns;
  const channels = colors < 0 || isShown
    ? []
    : channelsOf(attributes).filter(({ index }) => index < shape[colors]!);
  const pictureAxes = channels.length > 0 ? { ...chosen, colors } : chosen;
  const plane = defaultPlaneOf(attributes);
  const [{ array: largest }] = levels as [ReadLevel];
  const full = typeof largest === "string" ? shape : largest.metadata.shape;
  const start = shape.map((length, i) => {
    if (i === chosen.rows || i === chosen.columns || length === 0) return 0;
    const given = plane[names[i] ?? ""];
    if (given !== undefined) {
      return Math.min(
        length - 1,
        Math.floor(given * length / (full[i] || length)),
      );
    }
    // The outermost planes of a volume are often empty.
    const isSpace = isNamed && axes[i]!.type === "space";
    return isSpace ? Math.floor(length / 2) : 0;
  });
  return {
    path: array.path,
    url,
    shape,
    names,
    axes: pictureAxes,
    chunkShape: array.chunkShape,
    innerChunkShape: array.innerChunkShape,
    start,
    channels,
  };
}

/** Describes the levels of an image in a table. */
function describeImage(image: ReadImage, { root }: PageRequest): Html {
  const { name, conventions, axes, levels, method, projection, more } = image;
  const dimensions = axes.map(({ name, type, unit }) => {
    const kind = [type, unit].filter((text) => text !== undefined).join(", ");
    return kind === "" ? name : `${name} (${kind})`;
  });
  const rows = levels.map((each) => describeLevel(image, root, each));
  return html`
    ${fieldList([
      ["name", name],
      ["attributes", conventions.join(", ")],
      ["dimensions", dimensions.join(", ")],
      ["resampling", method],
      ["projection", projection],
    ])}<div class="scroll">
      <table class="levels">
        <thead>
          <tr>
            <th scope="col">Level</th>
            <th scope="col">Shape</th>
          </tr>
        </thead>
        <tbody>${rows}</tbody>
      </table>
    </div>
    ${more > 0 ? muted(`and ${unitsText(more, "more level")}`) : ""}
  `;
}

function describeLevel(
  image: Multiscale,
  root: string,
  level: ReadLevel,
): Html {
  const { array } = level;
  if (typeof array === "string") {
    return html`
      <tr>
        <td>${level.name}</td>
        <td class="alert">${array}</td>
      </tr>
    `;
  }
  const { metadata: { shape, data_type }, chunkShape, innerChunkShape } = array;
  const variable = array.path === level.path
    ? ""
    : `/${array.path.slice(level.path!.length + 1)}`;
  const sizes = sizesOf(image, level.scale, array);
  const [chunks, inner = ""] = [chunkShape, innerChunkShape]
    .map((shape) => shape && shapeText(shape));
  const text = inner === ""
    ? `chunks of ${chunks}`
    : `shards of ${chunks}, inner chunks of ${inner}`;
  return html`
    <tr>
      <td><a href="${urlOf(root, array.path)}">${level.name}${variable}</a></td>
      <td>${shapeText(shape)} <small>${nameOf(data_type)} in ${text}</small>
    ${sizes && html`<small>pixels of ${sizes}</small>`}</td>
    </tr>
  `;
}

/** The pixel sizes of a level along its dimensions of space, such as `0.5 × 0.36 × 0.36 micrometer`. */
function sizesOf(
  { axes }: Multiscale,
  given: readonly number[] | undefined,
  { metadata: { attributes } }: InspectedArray,
): string | undefined {
  const scale = given ?? pixelSizes(attributes?.["spatial:transform"]);
  if (scale === undefined || !scale.every(Number.isFinite)) return undefined;
  const isNamed = axes.length === scale.length;
  const shown = scale.map((size, i) => ({ size, ...isNamed && axes[i] }))
    .filter(({ type = "space" }) => type === "space");
  const units = new Set(shown.map(({ unit = "" }) => unit));
  const sizes = shown.map(({ size }) => Number(size.toPrecision(5)));
  return sizes.length === 0
    ? undefined
    : `${sizes.join(" × ")} ${[...units].join(", ")}`.trimEnd();
}
