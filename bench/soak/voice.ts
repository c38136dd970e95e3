import type { Finding } from './finding.ts'
import { abuseCalls } from './voice/abuse-calls.ts'

/** Calls at once. */
const BATCH = 8

/** Calls that are cut, canceled, interrupted, or whose models throw and hang; prints what became of them. */
export async function soakVoice(count: number, seed: number): Promise<Finding[]> {
  console.log(`voice: seed ${seed}`)
  const { counts, faults, left } = await abuseCalls(count, seed, BATCH)
  for (const [what, number] of counts) console.log(`  ${String(number).padStart(6)} ${what}`)
  for (const fault of faults) console.error(`unexpected: ${fault}`)
  return [
    { what: 'unexpected ends', value: faults.length, limit: 0, unit: '' },
    ...Object.entries(left).map(([what, value]) => ({ what: `${what} left`, value, limit: 0, unit: '' }))
  ]
}
