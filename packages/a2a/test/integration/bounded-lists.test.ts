import { join } from 'node:path'
import type { RunnableDefinition } from '@svc/registry'
import store from '@svc/store'
import t from 'tap'
import { buildApp, echo, say, type AppRequest } from '../helpers/build-app.ts'

const MEGABYTE = 1_000_000
const LISTED = 100_000
/** The limit of a page, plus one task of the largest size that is listed in full: it has its text twice. */
const MAX_PAGE = 1_048_576 + 2.2 * LISTED

const some = textOf('some', LISTED)
const big = textOf('big', MEGABYTE)
/** Waits for an approval with arguments of a megabyte. */
const asking: RunnableDefinition = {
  kind: 'agent',
  name: 'asking',
  async *stream(_input, { approvals }) {
    const args = { file: 'y'.repeat(MEGABYTE) }
    await approvals.request({ toolCallId: 'c', toolName: 'write', args })
    yield { type: 'text', text: 'written' }
  }
}

function textOf(name: string, length: number): RunnableDefinition {
  return {
    kind: 'agent',
    name,
    async *stream() {
      yield { type: 'text', text: 'x'.repeat(length) }
    }
  }
}

const kinds: [name: string, before: (folder: string) => NonNullable<AppRequest['before']>][] = [
  ['memory', () => async () => {}],
  ['SQLite', (folder) => async (app) => app.register(store, { url: `sqlite:${join(folder, 'app.db')}` })]
]
for (const [name, begin] of kinds) {
  t.test(`lists of tasks are cut by bytes (${name})`, async (t) => {
    const app = await buildApp(t, { runnables: [echo, some, big, asking], before: begin(t.testdir()) })
    const ids: string[] = []
    for (const name of [
      'asking',
      'echo',
      'big',
      ...Array.from({ length: 20 }, () => 'some'),
      'big',
      'asking'
    ])
      ids.push((await app.rpc('message/send', say(name))).result.id as string)
    const readPages = async (params: object) => {
      const sizes: number[] = []
      const tasks: ListedTask[] = []
      for (let pageToken: string | undefined; pageToken !== '';) {
        const { result } = await app.rpc('ListTasks', { pageSize: 100, pageToken, ...params })
        sizes.push(Buffer.byteLength(JSON.stringify(result)))
        tasks.push(...result.tasks)
        t.equal(result.totalSize, ids.length)
        pageToken = result.nextPageToken as string
      }
      t.same(tasks.map(({ id }) => id).toSorted(), ids.toSorted(), 'each is there once')
      return { tasks, sizes, largest: Math.max(...sizes) }
    }

    const whole = await readPages({ includeArtifacts: true })
    t.ok(whole.largest < MAX_PAGE, `${whole.largest} bytes`)
    t.ok(whole.sizes.length < 8, `${whole.sizes.length} pages`)
    const lengths = (name: string) =>
      whole.tasks
        .filter(({ metadata }) => metadata.agentName === name)
        .map(({ artifacts, metadata }) => [artifacts?.[0]?.parts[0]?.text.length, metadata.truncated])
    t.same(
      lengths('some'),
      Array.from({ length: 20 }, () => [LISTED, undefined])
    )
    t.same(lengths('big'), [
      [undefined, true],
      [undefined, true]
    ])
    const said = await readPages({})
    t.ok(said.largest < MAX_PAGE, `${said.largest} bytes`)
    const bare = await readPages({ historyLength: 0 })
    t.equal(bare.sizes.length, 1, 'without results and what was said they are small')
    t.ok(bare.largest < 65_536, `${bare.largest} bytes`)

    const get = async (index: number) => (await app.rpc('GetTask', { id: ids[index] })).result
    t.equal(
      (await get(0)).status.message.parts[1].data.args.file.length,
      MEGABYTE,
      'a task alone has all of it'
    )
    t.equal((await get(2)).artifacts[0].parts[0].text.length, MEGABYTE)
  })
}

interface ListedTask {
  id: string
  artifacts?: { parts: { text: string }[] }[]
  metadata: { agentName: string; truncated?: boolean }
}
