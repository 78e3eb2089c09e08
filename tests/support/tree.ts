/** Reads a folder recursively; returns the bytes of files, `"folder"` for folders, and the targets of links, by relative path. */
export async function treeOf(
  root: string,
  path = "",
): Promise<Record<string, number[] | string>> {
  const tree: Record<string, number[] | string> = {};
  const entries = await Array.fromAsync(Deno.readDir(root + path));
  entries.sort((a, b) => a.name < b.name ? -1 : 1);
  for (const { name, isDirectory, isSymlink } of entries) {
    const below = `${path}/${name}`;
    if (isDirectory) {
      tree[below] = "folder";
      Object.assign(tree, await treeOf(root, below));
    } else if (isSymlink) {
      tree[below] = await Deno.readLink(root + below);
    } else {
      tree[below] = Array.from(await Deno.readFile(root + below));
    }
  }
  return tree;
}
