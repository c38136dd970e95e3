import { readNames, readOptions } from './read-options.ts'
import { soakAgents } from './soak/agents.ts'
import { soakBrowser } from './soak/browser.ts'
import { soakBusy } from './soak/busy.ts'
import { soakChannel } from './soak/channel.ts'
import { soakCluster } from './soak/cluster.ts'
import { soakDrain } from './soak/drain.ts'
import { soakKills } from './soak/kills.ts'
import { soakLists } from './soak/lists.ts'
import { soakQueue } from './soak/queue.ts'
import { soakReaders } from './soak/readers.ts'
import { soakReads } from './soak/reads.ts'
import { soakRuns } from './soak/runs.ts'
import { soakSchedules } from './soak/schedules.ts'
import { soakSessionWires } from './soak/session-wires.ts'
import { soakSockets } from './soak/sockets.ts'
import { soakTests } from './soak/tests.ts'
import { soakVoice } from './soak/voice.ts'
import { soakWaiting } from './soak/waiting.ts'
import { soakWebhooks } from './soak/webhooks.ts'
import { soakWorkflowKills } from './soak/workflow-kills.ts'

const USAGE = `npm run soak -- [--only runs,readers,reads,kills,workflows,agents,browser,voice,queue,schedules,webhooks,channel,session-wires,busy,waiting,drain,sockets,lists,cluster,tests]
                [--kills 100] [--count 1000] [--runs 2000] [--cuts 10000] [--seed 1]

Does the same again and again, many minutes long, and fails where memory grows or something is lost.

--kills   of the services that run and of those of workflows
--count   runs of agents that a kill hits, of browser agents, conversations, of calls, turns of a call, and races of two nodes
--runs    of several nodes on one Postgres
--cuts    of streams of sessions over the APIs of vendors
--seed    the same runs of agents, kills and crashes again`
const values = readOptions(USAGE, {
  only: { type: 'string' },
  kills: { type: 'string', default: '100' },
  count: { type: 'string', default: '1000' },
  runs: { type: 'string', default: '2000' },
  cuts: { type: 'string', default: '10000' },
  seed: { type: 'string', default: String(Date.now() % 1e9) }
})
const soaks = {
  runs: () => soakRuns(100_000),
  readers: () => soakReaders(200, 50_000_000),
  reads: soakReads,
  lists: soakLists,
  kills: () => soakKills(Number(values.kills)),
  workflows: () => soakWorkflowKills(Number(values.kills)),
  agents: () => soakAgents(Number(values.count), Number(values.seed)),
  queue: () => soakQueue(Number(values.seed)),
  schedules: () => soakSchedules(Number(values.seed)),
  channel: () => soakChannel(Number(values.count), Number(values.seed)),
  'session-wires': () => soakSessionWires(Number(values.cuts), Number(values.seed)),
  busy: () => soakBusy(Number(values.count) / 2, Number(values.seed)),
  webhooks: () => soakWebhooks(Number(values.seed)),
  waiting: () => soakWaiting(1_000),
  browser: () => soakBrowser(Number(values.count), Number(values.seed)),
  voice: () => soakVoice(Number(values.count), Number(values.seed)),
  drain: () => soakDrain(20),
  sockets: () => soakSockets(100),
  cluster: () => soakCluster(Number(values.runs), Number(values.count), Number(values.seed)),
  tests: soakTests
}

const only = readNames(values.only, Object.keys(soaks), USAGE)
let failed = 0
for (const [name, soak] of Object.entries(soaks)) {
  if (only !== undefined && !only.includes(name)) continue
  for (const { what, value, limit, unit } of await soak()) {
    const good = value <= limit
    if (!good) failed++
    console.log(`${good ? 'ok    ' : 'NOT OK'} ${what}: ${value.toFixed(2)} ${unit} (at most ${limit})`)
  }
}
process.exitCode = failed === 0 ? 0 : 1
