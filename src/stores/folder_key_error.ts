/** A key names a folder, which is neither a value nor an absent one. */
export class FolderKeyError extends Error {}
