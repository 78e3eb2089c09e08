/**
 * No value can have a key in a file system: the key names a folder, or lies below a key
 * that names a file.
 */
export class FolderKeyError extends Error {}
