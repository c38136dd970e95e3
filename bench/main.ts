import { readNames, readOptions } from './read-options.ts'
import { reportRequests } from './requests.ts'
import { VARIANTS } from './variants.ts'
import type { VoiceReportOptions } from './voice.ts'

interface Section {
  report(rounds: number, options: VoiceReportOptions): Promise<void>
}

/** What is measured besides requests; `rounds` is how often, where it is in rounds. */
const SECTIONS: Record<string, () => Promise<Section>> = {
  'agent-loop': () => import('./agent-loop.ts'),
  agents: () => import('./agents.ts'),
  browser: () => import('./browser.ts'),
  cluster: () => import('./cluster.ts'),
  console: () => import('./console.ts'),
  context: () => import('./context.ts'),
  'first-token': () => import('./first-token.ts'),
  growth: () => import('./growth.ts'),
  grown: () => import('./grown.ts'),
  grpc: () => import('./grpc.ts'),
  idle: () => import('./idle.ts'),
  memory: () => import('./memory.ts'),
  postgres: () => import('./postgres.ts'),
  queue: () => import('./queue.ts'),
  recall: () => import('./recall.ts'),
  'response-sockets': () => import('./response-sockets.ts'),
  sandbox: () => import('./sandbox.ts'),
  'session-wires': () => import('./session-wires.ts'),
  sessions: () => import('./sessions.ts'),
  sockets: () => import('./sockets.ts'),
  start: () => import('./start.ts'),
  turns: () => import('./turns.ts'),
  voice: () => import('./voice.ts')
}
const names = [...VARIANTS.map(({ name }) => name), ...Object.keys(SECTIONS)]
const USAGE = `npm run bench -- [--rounds 5] [--only ${names.slice(0, 2).join(',')}] [--sources] [--silero silero_vad.onnx]

Measures everything, on a machine that does nothing else, or only what is named:
${names.join(', ')}

--sources  measures the sources as they are, instead of the packages that are built, packed and installed from them
--silero   the file of Silero VAD, to measure it as a detector of calls`

const values = readOptions(USAGE, {
  rounds: { type: 'string', default: '5' },
  only: { type: 'string' },
  sources: { type: 'boolean', default: false },
  silero: { type: 'string' }
})
const rounds = Number(values.rounds)
const only = readNames(values.only, names, USAGE) ?? names
const variants = VARIANTS.filter(({ name }) => only.includes(name))
if (variants.length > 0) await reportRequests(variants, rounds)
for (const [name, load] of Object.entries(SECTIONS))
  if (only.includes(name)) await (await load()).report(rounds, { silero: values.silero })
