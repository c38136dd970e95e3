import { reportAgentLoop } from './agent-loop.ts'
import { reportBrowser } from './browser.ts'
import { reportCluster } from './cluster.ts'
import { reportConsole } from './console.ts'
import { reportGrowth } from './growth.ts'
import { reportGrpc } from './grpc.ts'
import { reportMemory } from './memory.ts'
import { readNames, readOptions } from './read-options.ts'
import { reportRecall } from './recall.ts'
import { reportRequests } from './requests.ts'
import { reportSandbox } from './sandbox.ts'
import { reportSessions } from './sessions.ts'
import { reportSockets } from './sockets.ts'
import { VARIANTS } from './variants.ts'
import { reportVoice, type VoiceReportOptions } from './voice.ts'

/** What is measured besides requests; `rounds` is how often, where it is in rounds. */
const SECTIONS: Record<string, (rounds: number, options: VoiceReportOptions) => Promise<void>> = {
  growth: reportGrowth,
  grpc: reportGrpc,
  'agent-loop': reportAgentLoop,
  browser: reportBrowser,
  cluster: reportCluster,
  console: reportConsole,
  memory: reportMemory,
  recall: reportRecall,
  sandbox: reportSandbox,
  sessions: reportSessions,
  sockets: reportSockets,
  voice: reportVoice
}
const names = [...VARIANTS.map(({ name }) => name), ...Object.keys(SECTIONS)]
const USAGE = `npm run bench -- [--rounds 5] [--only ${names.slice(0, 2).join(',')}] [--silero silero_vad.onnx]

Measures everything, on a machine that does nothing else, or only what is named:
${names.join(', ')}

--silero  the file of Silero VAD, to measure it as a detector of calls`

const values = readOptions(USAGE, {
  rounds: { type: 'string', default: '5' },
  only: { type: 'string' },
  silero: { type: 'string' }
})
const rounds = Number(values.rounds)
const only = readNames(values.only, names, USAGE) ?? names
const variants = VARIANTS.filter(({ name }) => only.includes(name))
if (variants.length > 0) await reportRequests(variants, rounds)
for (const [name, report] of Object.entries(SECTIONS))
  if (only.includes(name)) await report(rounds, { silero: values.silero })
