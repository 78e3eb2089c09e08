/** Reads a folder recursively; returns the bytes of files, and `"folder"` for folders, by relative path. */
export async function treeOf(
  root: string,
  path = "",
): Promise<Record<string, number[] | "folder">> {
  const tree: Record<string, number[] | "folder"> = {};
  const entries = await Array.fromAsync(Deno.readDir(root + path));
  entries.sort((a, b) => a.name < b.name ? -1 : 1);
  for (const { name, isDirectory } of entries) {
    const below = `${path}/${name}`;
    if (isDirectory) {
      tree[below] = "folder";
      Object.assign(tree, await treeOf(root, below));
    } else {
      tree[below] = Array.from(await Deno.readFile(root + below));
    }
  }
  return tree;
}
