import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { spawnDemo } from '../helpers/demo-process.ts'

interface Part {
  type: string
  seq: number
  toolName?: string
  args?: { parcel: number }
}

const bash = async (command: string) => (await promisify(execFile)('bash', ['-c', command])).stdout

t.test(
  'killed in the middle of its tools, the demo continues where it was and says so',
  { timeout: 120_000 },
  async (t) => {
    const env = { DATA_DIR: t.testdir(), LOG_LEVEL: 'silent', OFFLINE_DELAY: '0' }
    const first = spawnDemo(t, env)
    await first.base()
    const start = lineOf(first.said(), /curl .*\/agents\/courier\/run/).replace('8 parcels', '4 parcels')
    const { runId } = JSON.parse(await bash(start)) as { runId: string }
    const before = await readUntil(`${await first.base()}/runs/${runId}/stream`, isResult)
    await bash(lineOf(first.said(), /kill -9 \d+/))
    await first.exited

    const second = spawnDemo(t, env)
    await second.base()
    const follow = lineOf(second.said(), new RegExp(`curl .*/runs/${runId}/stream`))
    t.match(follow, /# agent courier$/)
    const after = toParts(await bash(follow))
    t.same(after.slice(0, before.length), before, 'what was read before the kill has not changed')
    t.same(
      after.map(({ seq }) => seq),
      after.map((_, index) => index + 1)
    )
    t.same(
      after.filter(({ type }) => type === 'tool.call').map(({ args }) => args?.parcel),
      [1, 2, 3, 4],
      'each parcel once'
    )
    t.equal(after.filter(isResult).length, 4)
    t.equal(after.at(-1)?.type, 'finish')
    t.equal(await second.stop(), 0)
  }
)

const isResult = ({ type }: Part) => type === 'tool.result'

function lineOf(said: string, pattern: RegExp): string {
  return said
    .split('\n')
    .find((line) => pattern.test(line))!
    .trim()
}

function toParts(stream: string): Part[] {
  const lines = stream.split('\n').filter((line) => line.startsWith('data: '))
  return lines.map((line) => JSON.parse(line.slice(6)) as Part)
}

/** The parts of a stream up to the one that is looked for. */
async function readUntil(url: string, isLast: (part: Part) => boolean): Promise<Part[]> {
  let text = ''
  for await (const chunk of (await fetch(url)).body!.pipeThrough(new TextDecoderStream())) {
    text += chunk
    const parts = toParts(text.slice(0, text.lastIndexOf('\n\n') + 1))
    const last = parts.findIndex(isLast)
    if (last >= 0) return parts.slice(0, last + 1)
  }
  throw new Error('the stream ended')
}
