import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import fc from "fast-check";
import {
  changeNodes,
  isArrayDocument,
  isMembers,
  nodePaths,
} from "../../src/metadata/node_documents.ts";
import { groupMetadata } from "../support/documents.ts";
import { arrayMetadata } from "../support/metadata.ts";

/** A node in a tree of groups, as the tests know it. */
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

/** The paths of a node and of those in it, one by one. */
function pathsOf({ children = [] }: Node, path = ""): string[] {
  const within = sorted(children).flatMap((child) =>
    pathsOf(child, path === "" ? child.name : `${path}/${child.name}`)
  );
  return [path, ...within];
}

/** As JavaScript has an object's members: those with numbers as names come first. */
function sorted(children: readonly Node[]): Node[] {
  const isNumber = ({ name }: Node) => name === "0" ? 0 : 1;
  return children.toSorted((a, b) => isNumber(a) - isNumber(b));
}

Deno.test("nodePaths and changeNodes visit the node and all that it holds, in one order, with their paths", () => {
  fc.assert(
    fc.property(node, (node) => {
      const document = documentOf(node);
      assertEquals(nodePaths(document), pathsOf(node));
      const visited: string[] = [];
      changeNodes(document, (node, path) => {
        visited.push(path);
        return node;
      });
      assertEquals(visited, nodePaths(document));
    }),
  );
});

Deno.test("changeNodes gives the same object where no node changes, and changes just the nodes that do", () => {
  fc.assert(
    fc.property(node, fc.nat(), (node, number) => {
      const document = documentOf(node);
      const before = JSON.stringify(document);
      assertStrictEquals(changeNodes(document, (node) => node), document);

      const places = nodePaths(document);
      const chosen = number % places.length;
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
      assertEquals(tags.length, places.length);
      assertEquals(tags[chosen], "changed");
      assertEquals(tags.filter((tag) => tag === "changed").length, 1);
    }),
  );
});

Deno.test("changeNodes hands on what a group became before it looks at the nodes in that", () => {
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

Deno.test("changeNodes keeps whatever else a group and its consolidated metadata have", () => {
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
});

Deno.test("nodePaths and changeNodes take any value for a document, and look into none that holds no nodes", () => {
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

Deno.test("isArrayDocument and isMembers know an array of Zarr v3 and an object of JSON", () => {
  assert(isArrayDocument(arrayMetadata()));
  assert(isArrayDocument({ zarr_format: 3, node_type: "array" }));
  for (
    const value of [
      groupMetadata(),
      { zarr_format: 2, node_type: "array" },
      { zarr_format: "3", node_type: "array" },
      { node_type: "array" },
      [],
      null,
      "array",
    ]
  ) assertEquals(isArrayDocument(value), false);
  assert(isMembers({}));
  for (const value of [[], null, undefined, 0, "{}"]) {
    assertEquals(isMembers(value), false);
  }
});
