/**
 * The nodes of a hierarchy: where they are, their documents, which of them are chosen, the
 * keys of their chunks, and what the attributes of groups say about other nodes.
 */
export {
  ArrayKeys,
  listHierarchy,
  type ListingEvents,
} from "./list_hierarchy.ts";
export {
  channelsOf,
  defaultPlaneOf,
  type ImageChannel,
  imagesOf,
  type Multiscale,
  type MultiscaleLevel,
  multiscalesOf,
  pixelSizes,
} from "./multiscales.ts";
export { namedNodes, resolvePath, withoutNamedNodes } from "./named_nodes.ts";
export {
  describePlace,
  documentKey,
  MARKER,
  type NodeLocation,
  pathIn,
  type Place,
  placeOf,
  rootIn,
} from "./node_location.ts";
export {
  findPaths,
  isInvalid,
  isInvalidInside,
  type Node,
  readNodeDocument,
  readNodes,
} from "./read_nodes.ts";
export { isSameCodecs, isSameDocument, writtenOut } from "./same_document.ts";
export {
  isIn,
  keysLeftOut,
  NODE_OPTIONS,
  type NodeSelection,
  type SelectedNodes,
  selectNodes,
} from "./select_nodes.ts";
