/** Bits of the code of an embedding, whatever its model. */
const CODE_BITS = 512
/** Bytes of the code of an embedding. */
export const CODE_BYTES = CODE_BITS / 8

/**
 * The code of an embedding: 512 bits, of which two embeddings of one model share the more, the smaller the angle between them. The
 * embedding is rotated at random, by two rounds of sign flips and a Walsh–Hadamard transform, and each bit is the sign of a coordinate. Codes
 * are stored: they must be the same in every release and on every machine.
 * @returns undefined for an embedding that is not `isComparable`
 */
export function codeOfEmbedding(embedding: ArrayLike<number>): Uint8Array | undefined {
  if (!isComparable(embedding)) return undefined
  const rotated = new Float64Array(sizeFor(embedding.length))
  for (let at = 0; at < embedding.length; at++) rotated[at] = Math.fround(embedding[at]!)
  const [first, second] = signsOf(rotated.length)
  flip(rotated, first)
  transform(rotated)
  flip(rotated, second)
  const folded = fold(rotated)
  transform(folded)
  const code = new Uint8Array(CODE_BYTES)
  for (let bit = 0; bit < CODE_BITS; bit++) if (folded[bit]! > 0) code[bit >> 3]! |= 1 << (bit & 7)
  return code
}

/** True for an embedding with a direction: it is not empty or zero, and its numbers are finite in single precision. */
export function isComparable(embedding: ArrayLike<number>): boolean {
  let isZero = true
  for (let at = 0; at < embedding.length; at++) {
    const value = Math.fround(embedding[at]!)
    if (!Number.isFinite(value)) return false
    if (value !== 0) isZero = false
  }
  return !isZero
}

// A power of two, which the transform needs, with a coordinate for each bit.
function sizeFor(dimensions: number): number {
  let size = CODE_BITS
  while (size < dimensions) size *= 2
  return size
}

function flip(values: Float64Array, signs: Int8Array): void {
  for (let at = 0; at < values.length; at++) values[at]! *= signs[at]!
}

// The transform of the sum of its blocks is the beginning of the transform of the whole, and all that is used of it.
function fold(values: Float64Array): Float64Array {
  const folded = values.slice(0, CODE_BITS)
  for (let at = CODE_BITS; at < values.length; at++) folded[at % CODE_BITS]! += values[at]!
  return folded
}

// In place, without the factor that makes it a rotation: only signs matter.
function transform(values: Float64Array): void {
  for (let half = 1; half < values.length; half *= 2)
    for (let block = 0; block < values.length; block += 2 * half)
      for (let at = block; at < block + half; at++) {
        const a = values[at]!
        const b = values[at + half]!
        values[at] = a + b
        values[at + half] = a - b
      }
}

// By size: a few powers of two.
const signs = new Map<number, readonly [first: Int8Array, second: Int8Array]>()

function signsOf(size: number): readonly [first: Int8Array, second: Int8Array] {
  const known = signs.get(size)
  if (known !== undefined) return known
  const made = [makeSigns(size, 1), makeSigns(size, 2)] as const
  signs.set(size, made)
  return made
}

// Marsaglia's xorshift with 32 bits.
function makeSigns(size: number, seed: number): Int8Array {
  let state = Math.imul(seed, 0x9e3779b1)
  return Int8Array.from({ length: size }, () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state < 0 ? -1 : 1
  })
}

/** The cosine of the angle between two embeddings; 0 if they have different lengths, or one is zero. */
export function cosine(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) return 0
  let dot = 0
  let ofA = 0
  let ofB = 0
  for (let at = 0; at < a.length; at++) {
    const x = a[at]!
    const y = b[at]!
    dot += x * y
    ofA += x * x
    ofB += y * y
  }
  return dot / (Math.sqrt(ofA * ofB) || 1)
}

const MIN_CANDIDATES = 128

/** How many items with the nearest codes are compared by their embeddings to find the best `limit`. */
export function candidatesFor(limit: number): number {
  return Math.max(MIN_CANDIDATES, 16 * limit)
}
