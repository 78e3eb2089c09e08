/** Copies the bytes of all pieces one after another into new memory. */
export function joinBytes(pieces: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(
    pieces.reduce((sum, piece) => sum + piece.length, 0),
  );
  let offset = 0;
  for (const piece of pieces) {
    joined.set(piece, offset);
    offset += piece.length;
  }
  return joined;
}
