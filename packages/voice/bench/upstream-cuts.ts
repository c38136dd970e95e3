import { parseArgs } from 'node:util'
import { cutUpstream } from '../test/helpers/realtime/cut-upstream.ts'

// Turns that are lost or doubled when the connection to a realtime model is cut: `node bench/upstream-cuts.ts --cuts 100 --seed 7`.

const { values } = parseArgs({
  options: {
    cuts: { type: 'string', default: '100' },
    seed: { type: 'string', default: String(Date.now() % 1e9) }
  }
})
const { turns, cuts, faults } = await cutUpstream(Number(values.cuts), Number(values.seed))
for (const fault of faults) console.error(`seed ${values.seed}: ${fault}`)
const what = `turns lost or doubled in ${cuts} cuts of the model`
console.log(`${what.padEnd(48)}${`${faults.length} of ${turns}`.padEnd(24)}target 0`)
