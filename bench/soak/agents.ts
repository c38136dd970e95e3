import { killAgents } from './agents/kill-agents.ts'
import type { Finding } from './finding.ts'

/** Runs at once. */
const BATCH = 20

/** Kills agents, teams and workflows of agents in the middle of random work; prints what happened, and each fault. */
export async function soakAgents(count: number, seed: number): Promise<Finding[]> {
  console.log(`agents: seed ${seed}`)
  const { counts, faults } = await killAgents({ count, seed, batch: BATCH })
  for (const [what, number] of Object.entries(counts)) console.log(`  ${String(number).padStart(6)} ${what}`)
  for (const [what, all] of Object.entries(faults))
    for (const fault of all) console.error(`${what}: ${fault}`)
  return Object.entries(faults).map(([what, { length }]) => ({ what, value: length, limit: 0, unit: '' }))
}
