import {
  assert,
  assertEquals,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import fc from "fast-check";
import { MetadataError } from "../../mod.ts";
import {
  assertNodeDocument,
  changeNodes,
  isArrayDocument,
  nodePaths,
} from "../../src/metadata/node_documents.ts";
import { groupMetadata } from "../support/documents.ts";
import { arrayMetadata } from "../support/metadata.ts";

/** A node in a tree of groups. */
interface Node {
  name: string;
  children: Node[] | undefined;
}

const name = fc.constantFrom(
  ...["a", "b", "a/b", "__proto__", "constructor", "0", "é", "", "zarr.json"],
);
const leaf = fc.record({ name, children: fc.constant(undefined) });
const groupOf = (child: fc.Arbitrary<Node>): fc.Arbitrary<Node> =>
  fc.record({
    name,
    children: fc.uniqueArray(child, {
      maxLength: 4,
      selector: ({ name }) => name,
    }),
  });
const node = groupOf(fc.oneof(leaf, groupOf(fc.oneof(leaf, groupOf(leaf)))));

function documentOf({ name, children }: Node): Record<string, unknown> {
  if (children === undefined) return { ...arrayMetadata(), tag: name };
  const members = children.map((child) => [child.name, documentOf(child)]);
  return { ...groupMetadata(Object.fromEntries(members)), tag: name };
}

/** Collects the paths of a node and all nodes in it. */
function pathsOf({ children = [] }: Node, path = ""): string[] {
  const within = sorted(children).flatMap((child) =>
    pathsOf(child, path === "" ? child.name : `${path}/${child.name}`)
  );
  return [path, ...within];
}

/** The order of an object's members in JavaScript: integer names come first. */
function sorted(children: readonly Node[]): Node[] {
  const isNumber = ({ name }: Node) => name === "0" ? 0 : 1;
  return children.toSorted((a, b) => isNumber(a) - isNumber(b));
}

Deno.test("nodePaths finds a node and all nodes in it, which changeNodes visits in the same order", () => {
  fc.assert(
    fc.property(node, (node) => {
      assertEquals(nodePaths(documentOf(node)), pathsOf(node));
    }),
  );
});

Deno.test("changeNodes returns the same object if nothing changes, and only changes the nodes that do", () => {
  fc.assert(
    fc.property(node, fc.nat(), (node, number) => {
      const document = documentOf(node);
      const before = JSON.stringify(document);
      assertStrictEquals(changeNodes(document, (node) => node), document);

      const paths = nodePaths(document);
      const chosen = number % paths.length;
      let at = 0;
      const changed = changeNodes(
        document,
        (node) =>
          at++ === chosen ? { ...node as object, tag: "changed" } : node,
      );
      assertEquals(JSON.stringify(document), before);
      const tags: unknown[] = [];
      changeNodes(changed, (node) => {
        tags.push((node as { tag: unknown }).tag);
        return node;
      });
      assertEquals(tags.length, paths.length);
      assertEquals(tags[chosen], "changed");
      assertEquals(tags.filter((tag) => tag === "changed").length, 1);
    }),
  );
});

Deno.test("changeNodes changes a group before the nodes in it", () => {
  const group = groupMetadata({ a: arrayMetadata(), b: arrayMetadata() });
  const fewer = groupMetadata({ b: arrayMetadata() });
  const visited: string[] = [];
  const changed = changeNodes(group, (node, path) => {
    visited.push(path);
    return path === "" ? fewer : node;
  });
  assertStrictEquals(changed, fewer);
  assertEquals(visited, ["", "b"]);
});

Deno.test("changeNodes keeps all other members of a group and its consolidated metadata", () => {
  const group = {
    ...groupMetadata({ a: 1 }),
    extra: [1],
  } as Record<string, unknown>;
  const consolidated = group.consolidated_metadata as Record<string, unknown>;
  consolidated.kind = "other";
  const changed = changeNodes(group, (node) => node === 1 ? 2 : node);
  assertEquals(changed, {
    ...group,
    consolidated_metadata: { ...consolidated, metadata: { a: 2 } },
  });
  const without = changeNodes(group, (node) => node === 1 ? undefined : node);
  assertEquals(nodePaths(without), [""]);
});

Deno.test("nodePaths and changeNodes accept any value as a document", () => {
  const values = [
    ...[undefined, null, 1, "a", true, [], [groupMetadata({ a: 1 })], {}],
    ...[null, [], "a", {}, { metadata: null }, { metadata: [1] }].map(
      (consolidated_metadata) => ({ consolidated_metadata }),
    ),
  ];
  for (const value of values) {
    assertEquals(nodePaths(value), [""]);
    assertStrictEquals(changeNodes(value, (node) => node), value);
    assertEquals(changeNodes(value, () => 7), 7);
  }
});

Deno.test("assertNodeDocument refuses what is neither an array nor a group", () => {
  const group = groupMetadata();
  const accepted = [
    arrayMetadata(),
    group,
    groupMetadata({ a: arrayMetadata() }),
  ]
    .concat({ ...group, attributes: null, consolidated_metadata: null })
    .concat({ ...group, x: { must_understand: false } });
  for (const document of accepted) assertNodeDocument(document);
  assertNodeDocument({ zarr_format: 3, node_type: "array", x: 1 });
  const refused: Record<string, unknown[]> = {
    "": [null, [], "group", 5],
    "/zarr_format": [{}, { ...group, zarr_format: 2 }],
    "/node_type": [{ zarr_format: 3 }, { ...group, node_type: "dataset" }],
    "/attributes": [{ ...group, attributes: [] }],
    "/x~1": [{ ...group, "x/": 1 }, { ...group, "x/": null }],
    "/consolidated_metadata": [{ ...group, consolidated_metadata: [] }],
    "/consolidated_metadata/metadata": [
      { ...group, consolidated_metadata: { metadata: [] } },
      { ...group, consolidated_metadata: {} },
    ],
  };
  for (const [path, all] of Object.entries(refused)) {
    for (const document of all) {
      const check = () => assertNodeDocument(document);
      assertEquals(assertThrows(check, MetadataError).path, path);
    }
  }
});

Deno.test("isArrayDocument recognizes Zarr v3 arrays", () => {
  assert(isArrayDocument(arrayMetadata()));
  assert(isArrayDocument({ zarr_format: 3, node_type: "array" }));
  const array = { zarr_format: 2, node_type: "array" };
  const others = [groupMetadata(), array, { ...array, zarr_format: "3" }];
  for (const value of [...others, { node_type: "array" }, [], null, "array"]) {
    assertEquals(isArrayDocument(value), false);
  }
});
