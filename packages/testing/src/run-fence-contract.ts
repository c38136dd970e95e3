import type { Awaitable, RunFence, SessionKey, Stores } from '@svc/contract'
import { codeOf, withStore, type ContractTest, type MakeStore } from './contract-test.ts'
import { completed, storedRun, textEntry } from './stored-run.ts'

/** The ports of a `Stores` to which runs write outside of their own records. */
export type FencedStores = Pick<
  Stores,
  'runs' | 'log' | 'sessions' | 'memory' | 'files' | 'browserStates' | 'remoteSessions'
>

/** One kind of write, and how many of them are stored. */
interface FencedWrite {
  write(text: string, fence: RunFence): Awaitable<unknown>
  /** Whether the text is stored. */
  has(text: string): Promise<boolean>
}

const key: SessionKey = { registry: 'global', owner: 'ada', kind: 'agent', name: 'echo', sessionId: 's' }

/** The contract of stores that belong together: a run that was leased again or removed writes nothing more. */
export function runFenceContract(t: ContractTest, make: MakeStore<FencedStores>): void {
  for (const port of ['sessions', 'memory', 'files', 'browserStates', 'remoteSessions'] as const)
    withStore(t, make, `${port} refuse a run that was leased again or removed`, async (t, stores) => {
      const { runs, log } = stores
      const { runId } = storedRun()
      const found = writesTo(stores, runId)[port]
      if (found === undefined) return
      const { write, has } = found
      const isRefused = async (text: string, epoch: number) => {
        t.equal(await codeOf(() => write(text, { runId, epoch })), 'RUN_ERR_FENCED')
        t.equal(await has(text), false)
      }
      const isStored = async (text: string, epoch: number) => {
        await write(text, { runId, epoch })
        t.ok(await has(text))
      }
      await runs.create(storedRun({ runId }))
      await isStored('first', 1)
      t.equal(await runs.lease(runId), 2)
      await isRefused('late', 1)
      await isStored('second', 2)
      await log.append(runId, 2, [textEntry(1)], completed)
      await isStored('last', 2)
      await runs.remove(runId)
      await isRefused('removed', 2)
    })

  withStore(t, make, 'embeddings of a run that was leased again are refused', async (t, { runs, memory }) => {
    if (memory.embed === undefined) return
    const { runId } = storedRun()
    const item = { id: '1', owner: 'ada', namespace: 'echo', text: 'text' }
    const embed = (value: number, epoch: number) =>
      codeOf(() => memory.embed!({ ...item, embedding: [value], model: 'm:1' }, { runId, epoch }))
    const stored = async () => (await memory.list('ada', 'echo', 9))[0]?.embedding
    await memory.put({ ...item, createdAt: 1 })
    await runs.create(storedRun({ runId }))
    t.equal(await embed(1, 1), 'none')
    await runs.lease(runId)
    t.equal(await embed(2, 1), 'RUN_ERR_FENCED')
    t.same(await stored(), [1])
    t.equal(await embed(3, 2), 'none')
    t.same(await stored(), [3])
  })
}

function writesTo({ sessions, memory, files, browserStates, remoteSessions }: FencedStores, runId: string) {
  const writes: Partial<Record<keyof FencedStores, FencedWrite>> = {
    sessions: {
      write: (text, fence) => sessions.append(key, text, [{ role: 'user', content: text }], fence),
      has: async (text) =>
        (await sessions.load(key, 9)).some(({ role, ...rest }) => role === 'user' && holds(rest, text))
    },
    memory: {
      write: (text, fence) =>
        memory.put({ id: text, owner: 'ada', namespace: 'echo', text, createdAt: 1 }, fence),
      has: async (text) => (await memory.list('ada', 'echo', 9)).some((item) => item.text === text)
    }
  }
  if (files !== undefined) {
    const kept = new Map<string, string>()
    writes.files = {
      async write(text, fence) {
        const { fileId } = await files.put(
          runId,
          { mimeType: 'text/plain', content: Buffer.from(text) },
          fence
        )
        kept.set(text, fileId)
      },
      has: async (text) => (await files.get(runId, kept.get(text) ?? text)) !== undefined
    }
  }
  if (browserStates !== undefined)
    writes.browserStates = {
      write: (text, fence) =>
        browserStates.save(key, { cookies: [], origins: [{ origin: text, localStorage: [] }] }, fence),
      has: async (text) => holds(await browserStates.load(key), text)
    }
  if (remoteSessions !== undefined)
    writes.remoteSessions = {
      write: (text, fence) => remoteSessions.save(key, 'other', { contextId: text }, fence),
      has: async (text) => holds(await remoteSessions.load(key, 'other'), text)
    }
  return writes
}

const holds = (value: unknown, text: string) => (JSON.stringify(value) ?? '').includes(text)
