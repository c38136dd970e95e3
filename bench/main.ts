import { parseArgs } from 'node:util'
import { reportAgentLoop } from './agent-loop.ts'
import { reportGrowth } from './growth.ts'
import { reportRecall } from './recall.ts'
import { reportRequests } from './requests.ts'
import { reportSandbox } from './sandbox.ts'
import { reportSockets } from './sockets.ts'
import { VARIANTS } from './variants.ts'

/** What is measured besides requests; `rounds` is how often, where it is in rounds. */
const SECTIONS: Record<string, (rounds: number) => Promise<void>> = {
  growth: reportGrowth,
  'agent-loop': reportAgentLoop,
  recall: reportRecall,
  sandbox: reportSandbox,
  sockets: reportSockets
}
const names = [...VARIANTS.map(({ name }) => name), ...Object.keys(SECTIONS)]
const usage = `npm run bench -- [--rounds 5] [--only ${names.slice(0, 2).join(',')}]

Everything takes some minutes, on a machine that does nothing else. It can be told what to measure: ${names.join(', ')}`

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    only: { type: 'string' },
    help: { type: 'boolean' }
  }
})
const rounds = Number(values.rounds)
const only = values.only?.split(',') ?? names
const unknown = only.find((name) => !names.includes(name))
if (values.help || unknown !== undefined || !Number.isInteger(rounds) || rounds < 1) {
  console.log(usage)
  process.exit(values.help ? 0 : 1)
}

const variants = VARIANTS.filter(({ name }) => only.includes(name))
if (variants.length > 0) await reportRequests(variants, rounds)
for (const [name, report] of Object.entries(SECTIONS)) if (only.includes(name)) await report(rounds)
