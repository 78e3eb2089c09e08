/** Bundles Neuroglancer with its data source for Zarr into a folder: `node build.cjs FOLDER` */
const { build } = require("esbuild");

const MAIN = `import "neuroglancer";
import { makeMinimalViewer } from "neuroglancer/unstable/ui/minimal_viewer.js";

globalThis.viewer = makeMinimalViewer();`;
const ENABLED = ["datasource/zarr", "layer/image", "kvstore/http"];
const WORKERS = ["chunk_worker.bundle", "async_computation.bundle"];

const icons = {
  name: "icons",
  setup({ onResolve, onLoad }) {
    onResolve(
      { filter: /\?raw$/ },
      ({ path }) => ({ path, namespace: "icon" }),
    );
    onLoad({ filter: /./, namespace: "icon" }, () => ({
      contents: "<svg/>",
      loader: "text",
    }));
  },
};

const options = {
  conditions: ENABLED.flatMap((name) => [
    `neuroglancer/${name.split("/")[0]}:none_by_default`,
    `neuroglancer/${name}:enabled`,
  ]),
  plugins: [icons],
  loader: { ".svg": "text", ".wasm": "file" },
  bundle: true,
  format: "esm",
};
const folder = process.argv[2];
build({
  ...options,
  stdin: { contents: MAIN, resolveDir: __dirname },
  outfile: `${folder}/main.js`,
});
build({
  ...options,
  entryPoints: WORKERS.map((name) =>
    `node_modules/neuroglancer/lib/${name}.js`
  ),
  outdir: folder,
});
