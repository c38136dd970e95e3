import { abuseBrowser } from './browser/abuse-browser.ts'
import type { Finding } from './finding.ts'

/** Runs at once. */
const BATCH = 4

/** Runs of browser agents that are canceled, time out, throw, or lose their page or the browser; prints what became of them. */
export async function soakBrowser(count: number, seed: number): Promise<Finding[]> {
  console.log(`browser: seed ${seed}`)
  const { counts, recoveries, idle, closed, faults } = await abuseBrowser(count, seed, BATCH)
  for (const [what, number] of counts) console.log(`  ${String(number).padStart(6)} ${what}`)
  for (const fault of faults) console.error(`unexpected: ${fault}`)
  return [
    { what: 'unexpected ends', value: faults.length, limit: 0, unit: '' },
    { what: 'next desk after a kill, at most', value: Math.max(0, ...recoveries), limit: 1_000, unit: 'ms' },
    { what: 'runs left', value: idle.runs, limit: 0, unit: '' },
    { what: 'proxies left', value: idle.listeners, limit: 0, unit: '' },
    { what: 'processes left', value: closed.processes, limit: 0, unit: '' },
    { what: 'temporary files left', value: closed.files, limit: 0, unit: '' },
    { what: 'listeners left', value: closed.listeners, limit: 0, unit: '' }
  ]
}
