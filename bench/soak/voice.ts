import type { Finding } from './finding.ts'
import { abuseCalls } from './voice/abuse-calls.ts'
import { takeRandomTurns } from './voice/random-turns.ts'

/** Calls at once. */
const BATCH = 8

/**
 * One call of many turns at random times, then calls that are cut, canceled, interrupted, or whose models throw and hang; prints what
 * became of them.
 */
export async function soakVoice(count: number, seed: number): Promise<Finding[]> {
  console.log(`voice: seed ${seed}`)
  return [...(await soakTurns(count, seed)), ...(await soakCalls(count, seed))]
}

async function soakTurns(count: number, seed: number): Promise<Finding[]> {
  const { faults, ...counts } = await takeRandomTurns(count, seed)
  for (const [what, number] of Object.entries({ turns: count, ...counts })) show(what, number)
  for (const [what, all] of Object.entries(faults))
    for (const fault of all) console.error(`${what}: ${JSON.stringify(fault)}`)
  return Object.entries(faults).map(([what, { length }]) => none(`${what}, of ${count} turns`, length))
}

async function soakCalls(count: number, seed: number): Promise<Finding[]> {
  const { counts, faults, left } = await abuseCalls(count, seed, BATCH)
  for (const [what, number] of counts) show(what, number)
  for (const fault of faults) console.error(`unexpected: ${fault}`)
  return [
    none('unexpected ends', faults.length),
    ...Object.entries(left).map(([what, value]) => none(`${what} left`, value))
  ]
}

const show = (what: string, number: number) => console.log(`  ${String(number).padStart(6)} ${what}`)

const none = (what: string, value: number): Finding => ({ what, value, limit: 0, unit: '' })
