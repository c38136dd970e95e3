import type { MemoryItem, MemoryStore } from '@svc/registry'
import { cosine } from '@svc/contract/stores'
import { percentile } from './figures.ts'

const DIMENSIONS = 1_536
const CLUSTERS = 500
const AT_ONCE = 200
const QUERIES = 100
const MODEL = `bench/model:${DIMENSIONS}`

const makeCenter = () => Float32Array.from({ length: DIMENSIONS }, () => Math.random() - 0.5)

// Not of one topic each: texts of a topic differ about as much as they have in common.
function makeVectors(count: number): Float32Array[] {
  const centers = Array.from({ length: CLUSTERS }, makeCenter)
  return Array.from({ length: count }, (_, index) =>
    centers[index % CLUSTERS]!.map((value) => value + 0.7 * (Math.random() - 0.5))
  )
}

/** Prints how long a search by similarity takes in a store, and how many of the true best five it finds. */
export async function reportSimilar(
  name: string,
  count: number,
  open: () => Promise<{ memory: MemoryStore; close(): Promise<void> }>
): Promise<void> {
  const vectors = makeVectors(count)
  const itemOf = (index: number): MemoryItem => ({
    id: `${index}`,
    owner: 'ann',
    namespace: 'bench',
    text: `item ${index}`,
    embedding: [...vectors[index]!],
    model: MODEL,
    createdAt: index
  })
  let store = await open()
  for (let from = 0; from < count; from += AT_ONCE)
    await Promise.all(
      Array.from({ length: Math.min(AT_ONCE, count - from) }, async (_, at) =>
        store.memory.put(itemOf(from + at))
      )
    )
  await store.close()
  store = await open()
  const find = async (embedding: readonly number[]) => {
    const query = { embedding, model: MODEL, limit: 10, minScore: 0.3 }
    return (await store.memory.similar!('ann', 'bench', query)).slice(0, 5).map(({ id }) => Number(id))
  }
  const times: number[] = []
  let found = 0
  let longest = 0
  const begunAt = performance.now()
  await find([...vectors[0]!])
  const first = performance.now() - begunAt
  for (let n = 0; n < QUERIES; n++) {
    const query = [...vectors[Math.floor(Math.random() * count)]!].map(
      (value) => value + 0.5 * (Math.random() - 0.5)
    )
    const at = performance.now()
    let last = at
    const ticking = setInterval(() => {
      longest = Math.max(longest, performance.now() - last)
      last = performance.now()
    })
    const ids = await find(query)
    times.push(performance.now() - at)
    clearInterval(ticking)
    const scores = vectors.map((vector) => cosine(vector, query))
    const best = [...scores.keys()].sort((a, b) => scores[b]! - scores[a]!).slice(0, 5)
    found += best.filter((index) => ids.includes(index)).length
  }
  await store.close()
  times.sort((a, b) => a - b)
  const figures = [first, percentile(times, 0.5), percentile(times, 0.95), longest]
  const recall = found / (5 * QUERIES)
  console.log(
    `${name.padEnd(10)} ${figures.map((ms) => ms.toFixed(1).padStart(9)).join(' ')}   ${recall.toFixed(3)}`
  )
}
