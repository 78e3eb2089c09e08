/** Nodes that are left out of the attributes of groups. */
import { assertEquals, assertStrictEquals } from "@std/assert";
import { changeZarrJson } from "../../src/metadata/mod.ts";
import {
  namedNodes,
  resolvePath,
  withoutNamedNodes,
} from "../../src/hierarchy/mod.ts";
import { encodeJson, utf8 } from "../support/documents.ts";

/** The path of a group, its attributes, the nodes that are left out, and the attributes after that. */
type Case = [path: string, before: string, gone: string[], after: string];

const CASES: Readonly<Record<string, Case>> = {
  "levels of OME-Zarr 0.4, and of ndpyramid": [
    "image",
    '{"multiscales":[{"datasets":[{"path":"0"},{"path":"./1"}],"type":"reduce"},{"datasets":[{"path":"low/0"}]}],"omero":{}}',
    ["image/0", "image/low/0"],
    '{"multiscales":[{"datasets":[{"path":"./1"}],"type":"reduce"}],"omero":{}}',
  ],
  "all levels of OME-Zarr 0.5": [
    "",
    '{"title":"x","ome":{"version":"0.5","multiscales":[{"datasets":[{"path":"0"},{"path":"1"}]}]}}',
    ["0", "1"],
    '{"title":"x","ome":{"version":"0.5"}}',
  ],
  "levels of GeoZarr, and what was derived from them": [
    "a",
    '{"zarr_conventions":[{"name":"multiscales"}],"multiscales":{"layout":[{"asset":"0","transform":1},{"asset":"1","derived_from":"0","transform":2},{"asset":"2","derived_from":"1","transform":2}],"resampling_method":"average"}}',
    ["a/0"],
    '{"zarr_conventions":[{"name":"multiscales"}],"multiscales":{"layout":[{"asset":"1"},{"asset":"2","derived_from":"1","transform":2}],"resampling_method":"average"}}',
  ],
  "the first level of GeoZarr, whose transform the group has": [
    "",
    '{"spatial:transform":[10,5],"spatial:shape":[80],"spatial:bbox":[5],"multiscales":{"layout":[{"asset":"0","spatial:transform":[10.0,5]},{"asset":"1","spatial:transform":[20,5]}]}}',
    ["0"],
    '{"spatial:transform":[20,5],"spatial:bbox":[5],"multiscales":{"layout":[{"asset":"1","spatial:transform":[20,5]}]}}',
  ],
  "the first level of GeoZarr, where the group has another transform": [
    "",
    '{"spatial:transform":[1,5],"multiscales":{"layout":[{"asset":"0","spatial:transform":[10,5]},{"asset":"1","spatial:transform":[20,5]}]}}',
    ["0"],
    '{"spatial:transform":[1,5],"multiscales":{"layout":[{"asset":"1","spatial:transform":[20,5]}]}}',
  ],
  "the last level of GeoZarr": [
    "",
    '{"spatial:transform":[10,5],"multiscales":{"layout":[{"asset":"0"},{"asset":"1"}]}}',
    ["1"],
    '{"spatial:transform":[10,5],"multiscales":{"layout":[{"asset":"0"}]}}',
  ],
  "all levels of GeoZarr": [
    "",
    '{"zarr_conventions":[{"name":"multiscales"},{"name":"spatial:"}],"multiscales":{"layout":[{"asset":"0/data"}]}}',
    ["0/data"],
    '{"zarr_conventions":[{"name":"spatial:"}]}',
  ],
  "labels": [
    "labels",
    '{"labels":["a","b","c/d"]}',
    ["labels/b", "labels/c/d", "a"],
    '{"labels":["a"]}',
  ],
  "wells of a plate, and images of a well": [
    "",
    '{"ome":{"plate":{"wells":[{"path":"A/1","rowIndex":0},{"path":"B/2"}]},"well":{"images":[{"path":"0"},{"path":"1"}]}}}',
    ["A/1", "1"],
    '{"ome":{"plate":{"wells":[{"path":"B/2"}]},"well":{"images":[{"path":"0"}]}}}',
  ],
  "series, which lie beside their group": [
    "OME",
    '{"ome":{"version":"0.5","series":["0","1"]}}',
    ["0", "OME/1"],
    '{"ome":{"version":"0.5","series":["1"]}}',
  ],
};

Deno.test("withoutNamedNodes leaves nodes out of the attributes of their group", () => {
  for (const [name, [path, before, gone, after]] of Object.entries(CASES)) {
    const isGone = (node: string) => gone.includes(node);
    const attributes = JSON.parse(before);
    const document = { node_type: "group", attributes };
    const changed = withoutNamedNodes(document, path, isGone);
    const expected = { node_type: "group", attributes: JSON.parse(after) };
    assertEquals(changed, expected, name);
    assertEquals(
      JSON.stringify(attributes),
      JSON.stringify(JSON.parse(before)),
    );
    assertStrictEquals(withoutNamedNodes(changed, path, isGone), changed);
    assertEquals(namedNodes(changed, path).filter(isGone), []);
  }
});

Deno.test("namedNodes returns the paths of the nodes that a group names", () => {
  const [path, attributes] = CASES["levels of OME-Zarr 0.4, and of ndpyramid"]!;
  const document = { attributes: JSON.parse(attributes) };
  const expected = ["image/0", "image/1", "image/low/0"];
  assertEquals(namedNodes(document, path), expected);
});

Deno.test("withoutNamedNodes keeps documents that name no node that is left out, whatever they hold", () => {
  const odd = [null, 1, "0", [], ["0"], {}, [null, 1, "1", [], {}]];
  const all = ["multiscales", "labels", "plate", "well", "series"].flatMap(
    (name) => odd.map((value) => ({ [name]: value })),
  );
  for (const value of odd) {
    all.push(
      { multiscales: [{ datasets: value }] } as never,
      { multiscales: { layout: value } } as never,
      { plate: { wells: value }, well: { images: value } } as never,
    );
  }
  for (const attributes of [...odd, ...all, ...all.map((ome) => ({ ome }))]) {
    const document = { attributes };
    assertStrictEquals(
      withoutNamedNodes(document, "a/b", (path) => path === "a/b/7"),
      document,
    );
  }
  for (const document of odd) {
    assertStrictEquals(withoutNamedNodes(document, "", () => true), document);
  }
});

Deno.test("withoutNamedNodes keeps the digits of numbers, and levels that lead out of the hierarchy", () => {
  const text =
    '{"attributes":{"multiscales":[{"datasets":[{"path":"../../x"},{"path":"0","s":1.50},{"path":"1","s":[1e-7,18446744073709551615,-0.0,NaN]}]}]}}';
  const changed = changeZarrJson(
    utf8(text),
    (document) => withoutNamedNodes(document, "a", (path) => path === "a/0"),
  );
  assertEquals(
    new TextDecoder().decode(changed).replaceAll(/\s/g, ""),
    '{"attributes":{"multiscales":[{"datasets":[{"path":"../../x"},{"path":"1","s":[1e-7,18446744073709551615,-0.0,NaN]}]}]}}',
  );
  const same = encodeJson({ attributes: { labels: ["a"] } });
  assertStrictEquals(
    changeZarrJson(same, (each) => withoutNamedNodes(each, "", () => false)),
    same,
  );
});

Deno.test("resolvePath follows names from a group, and not out of the hierarchy", () => {
  const cases: readonly [string, string, string | undefined][] = [
    ["", "0", "0"],
    ["a/b", "0", "a/b/0"],
    ["a/b", "./c//d/", "a/b/c/d"],
    ["a/b", "../0", "a/0"],
    ["a/b", "../../0", "0"],
    ["a/b", "../..", ""],
    ["a/b", "../../../0", undefined],
    ["a", "0/../../b", "b"],
    ["", "..", undefined],
    ["", "__proto__", "__proto__"],
  ];
  for (const [group, name, expected] of cases) {
    assertEquals(resolvePath(group, name), expected, `${group} ${name}`);
  }
});
