import { html } from "hono/html";
import type { InspectedArray } from "../../jobs/mod.ts";
import type { Members } from "../../metadata/mod.ts";
import { runConcurrently } from "../../runtime/mod.ts";
import { nameOf } from "../draw_array.ts";
import { countText, shapeText, unitsText } from "../format.ts";
import { section } from "./array_page.ts";
import { choosePictureAxes, type PictureAxes } from "./chunk_map.ts";
import type { Html } from "./drawings.ts";
import type { Hierarchy } from "./hierarchy.ts";
import {
  channelsOf,
  defaultPlaneOf,
  type ImageChannel,
  type Multiscale,
  type MultiscaleLevel,
  multiscalesOf,
  pixelSizes,
  resolvePath,
} from "../../hierarchy/mod.ts";

/** The number of levels whose documents are read at once. */
const AT_ONCE = 8;
/** The most elements along a side of a picture, as the script of pages draws them. */
const LONGEST_SIDE = 1024;
/** The most elements that are decoded for the picture of a group, which is drawn without a click. */
const MOST_ELEMENTS = 2 ** 25;

/** The parts of the page of a group that show its levels. */
export interface DescribedMultiscales {
  readonly picture: Html;
  readonly levels: Html;
  /** The level that the script of the page draws; `undefined` if there is no picture. */
  readonly pictured: PicturedLevel | undefined;
}

/** The array that the page of a group draws, for the script of the page. */
export interface PicturedLevel {
  /** The path of the array. */
  readonly path: string;
  readonly url: string;
  readonly shape: readonly number[];
  readonly names: readonly (string | null)[];
  readonly axes: PictureAxes;
  readonly chunkShape: readonly number[];
  readonly innerChunkShape: readonly number[] | undefined;
  /** The element along each dimension that the picture begins with. */
  readonly start: readonly number[];
  readonly channels: readonly ImageChannel[];
}

/** The nodes of a store that a page shows. */
interface PageOfGroup {
  readonly hierarchy: Hierarchy;
  /** The path of the group. */
  readonly path: string;
  readonly attributes: Members;
  /** The URL of a node. */
  url(path: string): string;
  /** Reads the metadata of an array; a text for an array that cannot be read. */
  describe(path: string): Promise<InspectedArray | string>;
}

/** A level whose array was read. */
interface ReadLevel {
  readonly level: MultiscaleLevel;
  /** The array, or the reason for which there is none. */
  readonly array: InspectedArray | string;
}

/** Describes the levels of a group; `undefined` for groups without levels. */
export async function describeMultiscales(
  page: PageOfGroup,
): Promise<DescribedMultiscales | undefined> {
  const images = multiscalesOf(page.attributes, page.path);
  if (images.length === 0) return undefined;
  const paths = new Set(
    images.flatMap(({ levels }) => levels.flatMap(({ path }) => path ?? [])),
  );
  const read = new Map<string, InspectedArray | string>();
  await runConcurrently(paths, AT_ONCE, async (path) => {
    read.set(path, await readLevel(page, path));
  });
  const described = images.map((image) => ({
    image,
    levels: image.levels.map((level) => ({
      level,
      array: level.path === undefined
        ? "not below this group"
        : read.get(level.path)!,
    })),
  }));
  const shown = described.find(({ levels }) =>
    levels.some(({ array }) => typeof array !== "string")
  );
  const { picture, pictured } = describePicture(page, shown ?? described[0]!);
  return {
    picture,
    pictured,
    levels: html`${described.map((each) => describeImage(page, each))}`,
  };
}

/** Reads the array of a level: the level itself, or the largest array in a group. */
async function readLevel(
  { hierarchy: { nodes, gap }, describe }: PageOfGroup,
  path: string,
): Promise<InspectedArray | string> {
  const node = nodes.find((node) => node.path === path);
  if (node && node.kind !== "group") return await describe(path);
  const sizeOf = (shape: readonly number[] = []) =>
    shape.reduce((product, length) => product * length, shape.length && 1);
  const inside = nodes.filter(({ kind, path: other }) =>
    kind === "array" && other.startsWith(`${path}/`) &&
    !other.slice(path.length + 1).includes("/")
  );
  const [largest] = inside.sort((a, b) => sizeOf(b.shape) - sizeOf(a.shape));
  if (largest !== undefined) return await describe(largest.path);
  if (node !== undefined) return "a group without arrays";
  return gap === undefined ? "there is no such node" : await describe(path);
}

/** Describes the picture of the smallest level. */
function describePicture(
  page: PageOfGroup,
  { image, levels }: { image: Multiscale; levels: readonly ReadLevel[] },
): { picture: Html; pictured: PicturedLevel | undefined } {
  const smallest = levels.reduce<
    { level: MultiscaleLevel; array: InspectedArray } | undefined
  >((least, { level, array }) => {
    if (typeof array === "string") return least;
    return least === undefined || countOf(array) <= countOf(least.array)
      ? { level, array }
      : least;
  }, undefined);
  if (smallest === undefined) {
    return {
      picture: html`<p class="muted">No level can be read.</p>`,
      pictured: undefined,
    };
  }
  const { level, array } = smallest;
  const pictured = pictureOf(page, image, levels, array);
  const link = html`<a href="${page.url(array.path)}">${level.name}</a>`;
  const which = levels.length === 1
    ? html`The only level, ${link}`
    : html`The smallest of ${countText(levels.length)} levels, ${link}`;
  const count = elementsOf(pictured);
  if (count > MOST_ELEMENTS) {
    return {
      picture: html`
        <p>${which}, is too large for a picture here, since ${countText(
          count,
        )} elements would be decoded. Its own page shows a part of it.</p>
      `,
      pictured: undefined,
    };
  }
  const { rows, columns } = pictured.axes;
  const isPart = [rows, columns].some((axis) =>
    axis !== undefined && pictured.shape[axis]! > LONGEST_SIDE
  );
  return {
    picture: html`
      <div id="view"></div>
      <noscript>The picture needs JavaScript.</noscript>
      <p class="muted">${which}${isPart
        ? ", is larger than a picture, which shows a part of it"
        : ""}.</p>
    `,
    pictured,
  };
}

function countOf({ metadata: { shape } }: InspectedArray): number {
  return shape.reduce((product, length) => product * length, 1);
}

/** Describes the picture of a level for the script of the page. */
function pictureOf(
  { attributes, url }: PageOfGroup,
  { axes }: Multiscale,
  levels: readonly ReadLevel[],
  array: InspectedArray,
): PicturedLevel {
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
    url: url(array.path),
    shape,
    names,
    axes: pictureAxes,
    chunkShape: array.chunkShape,
    innerChunkShape: array.innerChunkShape,
    start,
    channels,
  };
}

/** The number of elements that are decoded for a picture. */
function elementsOf(
  { shape, axes, chunkShape, innerChunkShape, channels }: PicturedLevel,
): number {
  const { rows, columns, colors } = axes;
  return shape.reduce((product, length, i) => {
    const chunk = (innerChunkShape ?? chunkShape)[i]!;
    const shown = i === colors
      ? channels.length || length
      : i === rows || i === columns
      ? Math.min(length, LONGEST_SIDE)
      : 1;
    return product * Math.ceil(shown / chunk) * chunk;
  }, 1);
}

/** Describes the levels of an image in a table. */
function describeImage(
  page: PageOfGroup,
  { image, levels }: { image: Multiscale; levels: readonly ReadLevel[] },
): Html {
  const { name, conventions, axes, method, projection, more } = image;
  const facts: [string, string | undefined][] = [
    ["name", name],
    ["attributes", conventions.join(", ")],
    ["dimensions", dimensionsText(axes)],
    ["resampling", method],
    ["projection", projection],
  ];
  const rows = levels.map((each) => describeLevel(page, image, each));
  return html`
    <dl>${facts.map(([name, text]) =>
      text && html`
        <div>
          <dt>${name}</dt>
          <dd>${text}</dd>
        </div>
      `
    )}</dl>
    <div class="scroll">
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
    ${more > 0
      ? html`<p class="muted">and ${unitsText(more, "more level")}</p>`
      : ""}
  `;
}

function describeLevel(
  { url }: PageOfGroup,
  image: Multiscale,
  read: ReadLevel,
): Html {
  const { level, array } = read;
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
  const sizes = sizesOf(image, read);
  const chunks = innerChunkShape === undefined
    ? `chunks of ${shapeText(chunkShape)}`
    : `shards of ${shapeText(chunkShape)}, inner chunks of ${
      shapeText(innerChunkShape)
    }`;
  return html`
    <tr>
      <td><a href="${url(array.path)}">${level.name}${variable}</a></td>
      <td>${shapeText(shape)}
        <small>${nameOf(data_type)} in ${chunks}</small>
        ${sizes && html`<small>pixels of ${sizes}</small>`}</td>
    </tr>
  `;
}

/** The pixel sizes of a level along its dimensions of space, such as `0.5 × 0.36 × 0.36 µm`. */
function sizesOf(
  { axes }: Multiscale,
  { level, array }: ReadLevel,
): string | undefined {
  const own = typeof array === "string"
    ? undefined
    : pixelSizes(array.metadata.attributes?.["spatial:transform"]);
  const scale = level.scale ?? own;
  if (scale === undefined || !scale.every(Number.isFinite)) return undefined;
  const isNamed = axes.length === scale.length;
  const shown = scale.flatMap((size, i) => {
    const axis = isNamed ? axes[i]! : undefined;
    const isHidden = axis?.type !== undefined && axis.type !== "space";
    return isHidden ? [] : [{ size, unit: unitText(axis?.unit) }];
  });
  if (shown.length === 0) return undefined;
  const [{ unit }] = shown as [typeof shown[number]];
  return shown.every((each) => each.unit === unit)
    ? `${shown.map(({ size }) => sizeText(size)).join(" × ")} ${unit}`.trimEnd()
    : shown.map(({ size, unit }) => `${sizeText(size)} ${unit}`.trimEnd())
      .join(" × ");
}

/** A size with at most five digits, such as `0.36`, `25,000` or `1.5e-7`. */
function sizeText(size: number): string {
  const rounded = Number(size.toPrecision(5));
  const magnitude = Math.abs(rounded);
  return magnitude >= 1e9 || magnitude < 1e-4 && magnitude > 0
    ? rounded.toExponential()
    : rounded.toLocaleString("en", { maximumSignificantDigits: 5 });
}

/** The symbols of units, by their names in UDUNITS-2. */
const UNITS: Readonly<Record<string, string>> = {
  angstrom: "Å",
  centimeter: "cm",
  kilometer: "km",
  meter: "m",
  micrometer: "µm",
  millimeter: "mm",
  nanometer: "nm",
  picometer: "pm",
  pixel: "px",
  degree: "°",
};

function unitText(unit: string | undefined): string {
  if (unit === undefined) return "";
  return Object.hasOwn(UNITS, unit) ? UNITS[unit]! : unit;
}

/** The dimensions in words, such as `c (channel), y × x (space, micrometer)`. */
function dimensionsText(axes: Multiscale["axes"]): string | undefined {
  const groups: { names: string[]; kind: string }[] = [];
  for (const { name, type, unit } of axes) {
    const kind = [type, unit].filter((text) => text !== undefined).join(", ");
    const last = groups.at(-1);
    if (last?.kind === kind) last.names.push(name);
    else groups.push({ names: [name], kind });
  }
  const texts = groups.map(({ names, kind }) =>
    names.join(" × ") + (kind && ` (${kind})`)
  );
  return texts.length === 0 ? undefined : texts.join(", ");
}

/** Lists labels with links to those that are there. */
export function describeLabels(
  { hierarchy, url }: Pick<PageOfGroup, "hierarchy" | "url">,
  folder: string,
  names: readonly string[],
): Html {
  const known = new Set(hierarchy.nodes.map(({ path }) => path));
  const items = names.map((name) => {
    const path = resolvePath(folder, name);
    const isKnown = path !== undefined && path !== folder &&
      path.startsWith(folder === "" ? "" : `${folder}/`) && known.has(path);
    return html`<li>${
      isKnown
        ? html`<a href="${url(path)}">${name}</a>`
        : html`${name} <small>there is no such node</small>`
    }</li>`;
  });
  return section("Labels", html`<ul class="labels">${items}</ul>`);
}
