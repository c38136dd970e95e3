import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { startServer, type ServerProcess } from '../server-process.ts'
import type { Finding } from './finding.ts'
import { pulseOf } from './pulse.ts'

const MEBIBYTE = 1_048_576
const RUNS = 100
/** Pages of tasks that each of many clients reads: all pages have 200 MB. */
const TASK_PAGES = 5

interface Page {
  ids: string[]
  next: string | null
}
type ReadPage = (cursor: string | null) => Promise<Page>

/**
 * Many lists at once of runs with results, of tasks with artifacts, of approvals with arguments, all of a megabyte, against a
 * service in a process of its own: how long its event loop stands still, what it takes of memory, and whether all is listed.
 */
export async function soakLists(): Promise<Finding[]> {
  const memory = await startServer('memory', 'soak/list-server.ts', '300')
  const found = await measure(memory, 300, '')
  await memory.stop()

  const folder = mkdtempSync(join(tmpdir(), 'lists-'))
  try {
    const url = `sqlite:${join(folder, 'lists.db')}`
    const filling = await startServer(url, 'soak/list-server.ts', '1000')
    await filling.stop()
    const restarted = await startServer(url, 'soak/list-server.ts')
    found.push(...(await measure(restarted, 1_000, ', SQLite')))
    await restarted.stop()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return found
}

async function measure(server: ServerProcess, waiting: number, where: string): Promise<Finding[]> {
  await isReady(server)
  const lists = { runs: readRuns(server), tasks: readTasks(server), approvals: readApprovals(server) }
  const missing = {
    runs: RUNS + 1 + waiting - (await readAll(lists.runs)).size,
    tasks: RUNS + 1 + waiting - (await readAll(lists.tasks)).size,
    approvals: waiting - (await readAll(lists.approvals)).size
  }
  const findings = Object.entries(missing).map(([what, value]) => ({
    what: `${what} that no page has${where}`,
    value,
    limit: 0,
    unit: ''
  }))
  const loads = {
    '30 lists of runs, 20 of tasks and 30 of approvals': () =>
      Promise.all([
        ...Array.from({ length: 30 }, () => readAll(lists.runs, 3)),
        ...Array.from({ length: 20 }, () => readAll(lists.tasks, TASK_PAGES)),
        ...Array.from({ length: 30 }, () => readAll(lists.approvals, 5))
      ]),
    'a run with a result of 60 MB, 5 times': () => readLargest(server, lists.runs)
  }
  for (const [what, load] of Object.entries(loads)) {
    const { rss } = await pulseOf(server)
    server.forgetPeak()
    await load()
    const grown = (server.peakRss() - rss) / MEBIBYTE
    const { stop, turn } = await pulseOf(server)
    findings.push(
      { what: `the longest stop of the event loop: ${what}${where}`, value: stop, limit: 100, unit: 'ms' },
      { what: `the most CPU time of one turn: ${what}${where}`, value: turn, limit: 100, unit: 'ms' },
      { what: `memory over idle: ${what}${where}`, value: grown, limit: 100, unit: 'MiB' }
    )
  }
  return findings
}

// What a restart loads is measured elsewhere.
async function isReady({ url }: ServerProcess): Promise<void> {
  while ((await fetch(`${url}/readyz`)).status !== 200) await setTimeout(200)
}

// The ids of every page, or of the first ones; one that comes twice is missed elsewhere.
async function readAll(read: ReadPage, pages = Number.POSITIVE_INFINITY): Promise<Set<string>> {
  const ids = new Set<string>()
  for (let cursor: string | null = null, count = 0; count < pages; count++) {
    const page: Page = await read(cursor)
    for (const id of page.ids) {
      if (ids.has(id)) throw new Error(`${id} is on two pages`)
      ids.add(id)
    }
    cursor = page.next
    if (cursor === null) break
  }
  return ids
}

async function get(server: ServerProcess, path: string): Promise<unknown> {
  const response = await fetch(server.url + path)
  const text = await response.text()
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text.slice(0, 200)}`)
  return JSON.parse(text)
}

const after = (cursor: string | null) => (cursor === null ? '' : `&cursor=${cursor}`)

function readRuns(server: ServerProcess): ReadPage {
  return async (cursor) => {
    const page = await get(server, `/runs?limit=100${after(cursor)}`)
    const { runs, nextCursor } = page as { runs: { runId: string }[]; nextCursor: string | null }
    return { ids: runs.map(({ runId }) => runId), next: nextCursor }
  }
}

function readApprovals(server: ServerProcess): ReadPage {
  return async (cursor) => {
    const page = await get(server, `/approvals?limit=100${after(cursor)}`)
    const { approvals, nextCursor } = page as {
      approvals: { approvalId: string }[]
      nextCursor: string | null
    }
    return { ids: approvals.map(({ approvalId }) => approvalId), next: nextCursor }
  }
}

function readTasks(server: ServerProcess): ReadPage {
  return async (cursor) => {
    const params = { pageSize: 100, includeArtifacts: true, ...(cursor !== null && { pageToken: cursor }) }
    const response = await fetch(`${server.url}/a2a`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ListTasks', params })
    })
    const { result } = (await response.json()) as {
      result: { tasks: { id: string }[]; nextPageToken: string }
    }
    return { ids: result.tasks.map(({ id }) => id), next: result.nextPageToken || null }
  }
}

async function readLargest(server: ServerProcess, runs: ReadPage): Promise<void> {
  const ids = [...(await readAll(runs))]
  // Newest first: after those that wait, the large one was the last to be made.
  const runId = ids.at(-RUNS - 1)!
  for (let time = 0; time < 5; time++) {
    const response = await fetch(`${server.url}/runs/${runId}`)
    let bytes = 0
    for await (const chunk of response.body!) bytes += chunk.length
    if (bytes < 60_000_000) throw new Error(`the run has ${bytes} bytes only`)
  }
}
