import { parseArgs } from 'node:util'
import { soakKills } from './soak/kills.ts'
import { soakReaders } from './soak/readers.ts'
import { soakRuns } from './soak/runs.ts'
import { soakWorkflowKills } from './soak/workflow-kills.ts'

const { values } = parseArgs({
  options: { only: { type: 'string' }, kills: { type: 'string', default: '100' } }
})
const soaks = {
  runs: () => soakRuns(100_000),
  readers: () => soakReaders(200, 50_000_000),
  kills: () => soakKills(Number(values.kills)),
  workflows: () => soakWorkflowKills(Number(values.kills))
}

let failed = 0
for (const [name, soak] of Object.entries(soaks)) {
  if (values.only !== undefined && values.only !== name) continue
  for (const { what, value, limit, unit } of await soak()) {
    const good = value <= limit
    if (!good) failed++
    console.log(`${good ? 'ok    ' : 'NOT OK'} ${what}: ${value.toFixed(2)} ${unit} (at most ${limit})`)
  }
}
process.exitCode = failed === 0 ? 0 : 1
