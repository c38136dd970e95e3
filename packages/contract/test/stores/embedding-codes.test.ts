import { createHash } from 'node:crypto'
import { array, assert, integer, property } from 'fast-check'
import t from 'tap'
import {
  candidatesFor,
  CODE_BYTES,
  codeOfEmbedding,
  CodeTable,
  cosine,
  isComparable
} from '@svc/contract/stores'
import { clusteredVectors, createGaussian, distanceOf } from '../helpers/vectors.ts'

const BITS = CODE_BYTES * 8

t.test('an embedding has the same code in every release, or stored codes were lost', async (t) => {
  const hash = createHash('sha256')
  for (const length of [1, 3, 512, 768, 1_536, 3_072])
    hash.update(codeOfEmbedding(Array.from({ length }, (_, index) => ((index * 7_919) % 2_003) - 1_001.5))!)
  t.equal(hash.digest('hex'), 'a3bcddef1676345a41adf62de654615aa489fa98911b0b3926c9b0a6e0246de1')
})

t.test('the share of different bits is about the angle between two embeddings', async (t) => {
  const gaussian = createGaussian(1)
  for (const dimensions of [32, 768, 1_536])
    for (const noise of [0, 0.3, 1, 3]) {
      const a = Array.from({ length: dimensions }, gaussian)
      const b = a.map((value) => value + noise * gaussian())
      const share = distanceOf(codeOfEmbedding(a)!, codeOfEmbedding(b)!) / BITS
      const angle = Math.acos(Math.min(1, cosine(a, b))) / Math.PI
      t.ok(Math.abs(share - angle) < 0.1, `${dimensions} dimensions: ${share} of ${angle}`)
    }
})

t.test('only the direction of an embedding counts, and the opposite one shares no bit', async () => {
  const embedding = array(integer({ min: -1_000, max: 1_000 }), { minLength: 1, maxLength: 900 })
  assert(
    property(embedding, (values) => {
      const code = codeOfEmbedding(values)
      if (code === undefined) return values.every((value) => value === 0)
      const half = codeOfEmbedding(Float32Array.from(values, (value) => value / 2))!
      const opposite = codeOfEmbedding(values.map((value) => -value))!
      return distanceOf(code, half) === 0 && code.every((byte, at) => (byte & opposite[at]!) === 0)
    }),
    { numRuns: 50 }
  )
})

t.test('an embedding without direction has no code', async (t) => {
  for (const bad of [[], [0, 0, -0], [1, NaN], [1, Infinity], [1, 1e39], [1e-50], [undefined as never]])
    t.equal(codeOfEmbedding(bad), undefined, JSON.stringify(bad))
  t.ok(isComparable([1e-40]))
  t.equal(cosine([1, 2], [1, 2, 3]), 0)
  t.equal(cosine([0, 0], [1, 2]), 0)
})

t.test('the best five by cosine are among the candidates', { timeout: 120_000 }, async (t) => {
  const gaussian = createGaussian(3)
  const vectors = clusteredVectors(gaussian, { count: 5_000, dimensions: 768, clusters: 100 })
  const table = new CodeTable<number>()
  for (const [index, vector] of vectors.entries()) table.set(index, codeOfEmbedding(vector)!)
  let found = 0
  const queries = vectors.slice(0, 40).map((vector) => vector.map((value) => value + 0.5 * gaussian()))
  for (const query of queries) {
    const scores = vectors.map((vector) => cosine(vector, query))
    const best = [...scores.keys()].sort((a, b) => scores[b]! - scores[a]!).slice(0, 5)
    const candidates = new Set(await table.nearest(codeOfEmbedding(query)!, candidatesFor(5)))
    found += best.filter((index) => candidates.has(index)).length
  }
  t.ok(found / (5 * queries.length) >= 0.98, `${found} of ${5 * queries.length}`)
})
