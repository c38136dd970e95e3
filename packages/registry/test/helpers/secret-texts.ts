import * as fc from 'fast-check'

// Few letters, so that the texts resemble each other.
const unit = fc.constantFrom('x', 'y', '"', '\u{1f511}')

/** Up to `most` similar keys. */
export function alikeKeys(most: number): fc.Arbitrary<string[]> {
  return fc.array(fc.string({ unit, minLength: 8, maxLength: 12 }), { minLength: 1, maxLength: most })
}

/** A text of the same letters: a key, a piece of one, or neither. */
export function textLike(keys: readonly string[]): fc.Arbitrary<string> {
  const piece = fc
    .tuple(fc.constantFrom(...keys), fc.nat(12), fc.nat(12))
    .map(([each, a, b]) => each.slice(Math.min(a, b), Math.max(a, b)))
  return fc.oneof(piece, fc.constantFrom(...keys), fc.string({ unit, maxLength: 4 }))
}
