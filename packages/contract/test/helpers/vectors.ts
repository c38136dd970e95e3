/** Normally distributed numbers, the same for the same seed: Park and Miller's generator, Box and Muller's transform. */
export function createGaussian(seed: number): () => number {
  let state = (seed % 2_147_483_646) + 1
  const uniform = () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
  return () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform())
}

/** Embeddings around centers, as those of texts about a few topics are. */
export function clusteredVectors(
  gaussian: () => number,
  { count, dimensions, clusters }: { count: number; dimensions: number; clusters: number }
): Float32Array[] {
  const vector = () => Float32Array.from({ length: dimensions }, gaussian)
  const centers = Array.from({ length: clusters }, vector)
  return Array.from({ length: count }, (_, index) =>
    centers[index % clusters]!.map((value) => value + 0.7 * gaussian())
  )
}

/** The number of bits in which two codes differ. */
export function distanceOf(a: Uint8Array, b: Uint8Array): number {
  let distance = 0
  for (const [at, byte] of a.entries())
    for (let bits = byte ^ b[at]!; bits > 0; bits >>= 1) distance += bits & 1
  return distance
}
