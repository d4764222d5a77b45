// Code in the address of a page: compressed, after `#`, so it never reaches a server.

/** Return `code=` and the compressed program, in the letters that an address takes as they are. */
export async function toHash(code: string): Promise<string> {
  const packed = await piped(new TextEncoder().encode(code), new CompressionStream("deflate-raw"));
  let binary = "";
  for (const byte of packed) binary += String.fromCharCode(byte);
  return `code=${btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** Return the program in the part of an address after `#`; null if there is none that can be read. */
export async function fromHash(hash: string): Promise<string | null> {
  const found = /(?:^#?|&)code=([\w-]+)/.exec(hash)?.[1];
  if (!found) return null;
  try {
    const binary = atob(found.replaceAll("-", "+").replaceAll("_", "/"));
    const packed = Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
    return new TextDecoder().decode(await piped(packed, new DecompressionStream("deflate-raw")));
  } catch {
    return null;
  }
}

async function piped(
  bytes: Uint8Array<ArrayBuffer>,
  through: CompressionStream | DecompressionStream,
): Promise<Uint8Array> {
  const stream = new Blob([bytes]).stream().pipeThrough(through);
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
