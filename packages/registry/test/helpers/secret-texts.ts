import * as fc from 'fast-check'

// Few letters: what is made of them has much in common.
const unit = fc.constantFrom('x', 'y', '"', '\u{1f511}')

/** Keys that are alike, at most so many. */
export function alikeKeys(most: number): fc.Arbitrary<string[]> {
  return fc.array(fc.string({ unit, minLength: 8, maxLength: 12 }), { minLength: 1, maxLength: most })
}

/** A text made of the same letters: a key, a piece of one, or neither. */
export function textLike(keys: readonly string[]): fc.Arbitrary<string> {
  const piece = fc
    .tuple(fc.constantFrom(...keys), fc.nat(12), fc.nat(12))
    .map(([each, a, b]) => each.slice(Math.min(a, b), Math.max(a, b)))
  return fc.oneof(piece, fc.constantFrom(...keys), fc.string({ unit, maxLength: 4 }))
}
