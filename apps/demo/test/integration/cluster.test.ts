import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { CLUSTER, spawnDemo } from '../helpers/demo-process.ts'

/** As many as the run delivers between two faults, on a machine that may be busy. */
const PARCELS = 6

interface Part {
  seq: number
  type: string
  toolName?: string
  result?: { parcel: number }
}

// Three nodes start, and a takeover waits for the end of a lease.
t.setTimeout(240_000)

const bash = async (command: string) => (await promisify(execFile)('bash', ['-c', command])).stdout

/** Watches a run with the printed command; resolves with its parts once it has ended. */
function watch(command: string): { delivered(): Promise<unknown>; parts: Promise<Part[]> } {
  const { stdout } = spawn('bash', ['-c', command], { stdio: ['ignore', 'pipe', 'inherit'] })
  const parts = text(stdout).then((sse) =>
    sse
      .split('\n')
      .filter((line) => line.startsWith('data: '))
      .map((line) => JSON.parse(line.slice('data: '.length)) as Part)
  )
  return {
    async delivered() {
      for (let seen = ''; !seen.includes('"tool.result"');) seen += String((await once(stdout, 'data'))[0])
    },
    parts
  }
}

function checkLog(t: Test, parts: readonly Part[]): void {
  t.same(
    parts.map(({ seq }) => seq),
    parts.map((_, index) => index + 1),
    'there is no gap and no part twice'
  )
  t.equal(parts.at(-1)?.type, 'finish')
  const delivered = parts.filter(({ type }) => type === 'tool.result').map(({ result }) => result?.parcel)
  t.same(
    delivered,
    [...Array(PARCELS).keys()].map((parcel) => parcel + 1),
    'each parcel is delivered once'
  )
}

t.test(
  'what the cluster prints works when pasted: runs outlast the kill -9 and the SIGTERM of their node',
  async (t) => {
    const cluster = spawnDemo(t, { OFFLINE_DELAY: '0', LOG_LEVEL: 'silent' }, CLUSTER)
    const [said] = await cluster.says(/The agent[^]*Ctrl\+C/)
    const commands = said
      .split('\n')
      .filter((line) => /^ {2}(?:curl|kill) /.test(line))
      .map((line) => line.trim().replace('20 parcels', `${PARCELS} parcels`))
    const [start = '', onSecond = '', kill = '', restart = '', terminate = '', onThird = '', ...others] =
      commands

    await bash(start)
    const first = watch(onSecond)
    await first.delivered()
    await bash(kill)
    checkLog(t, await first.parts)

    await bash(restart)
    const second = watch(onThird)
    await second.delivered()
    await bash(terminate)
    checkLog(t, await second.parts)

    const next = others.pop() ?? ''
    for (const command of others) t.ok(JSON.parse(await bash(command)), command)
    t.match(
      JSON.parse(await bash(next)),
      { text: /How do I resume a stream\?/ },
      'a session is the same on all nodes'
    )
    await cluster.says(/node 2 \(pid \d+\) ended: code 0/)
    t.equal(await cluster.stop(), 0)
  }
)
