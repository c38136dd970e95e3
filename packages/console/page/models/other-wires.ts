import { createParser } from 'eventsource-parser'
import { currentToken } from '../api/access.ts'
import { call, segment, send, surfaceUrl, urlOf } from '../api/client.ts'
import { runStream } from '../api/resources.ts'
import type { RunModel } from './run-model.ts'

/** Messages of a wire that are read at most. */
const MAX_EVENTS = 1_000

/** Messages of a page of a list, and pages in which a run is searched. */
const PAGE = 100
const MAX_PAGES = 50

/** How another wire tells a run. */
export interface OtherWire {
  readonly name: string
  /** What its clients get, in order; undefined if the service does not say where the wire is. */
  read: ((signal: AbortSignal) => Promise<readonly unknown[]>) | undefined
}

/** The wires that can tell a run which they did not start. */
export function otherWires({ runId, start }: RunModel): OtherWire[] {
  const { kind = 'agent', name = '', sessionId = '' } = start ?? {}
  const threads = `ag-ui/${kind}/${segment(name)}/threads/${segment(sessionId)}/connect`
  const responses = `responses/resp_${segment(runId)}?stream=true`
  const session = `sessions/${segment(sessionId)}`
  return [
    { name: 'Responses', read: readerAt(surfaceUrl('responses'), responses, readEvents) },
    {
      name: 'AG-UI',
      read: readerAt(surfaceUrl('agui'), threads, async (url, signal) =>
        eventsOf(runId, await readEvents(url, signal))
      )
    },
    {
      name: 'Agents API',
      read: readerAt(surfaceUrl('agents'), `agents/${session}/turns/${segment(runId)}/items`, readItems)
    },
    {
      name: 'Managed Agents',
      read: readerAt(surfaceUrl('managed'), `v1/${session}/events`, async (url, signal) =>
        readSessionEvents(url, runId, signal)
      )
    },
    { name: 'A2A', read: readerAt(surfaceUrl('a2a'), '', (url, signal) => readTask(url, runId, signal)) }
  ]
}

function readerAt(
  base: URL | undefined,
  path: string,
  read: (url: string, signal: AbortSignal) => Promise<readonly unknown[]>
): OtherWire['read'] {
  return base && ((signal) => read(new URL(path, base).href, signal))
}

async function readTask(url: string, runId: string, signal: AbortSignal): Promise<unknown[]> {
  const body = { jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: runId } }
  const headers = { 'a2a-version': '1.0' }
  const { result, error } = await call<{ result?: unknown; error?: { message: string } }>(url, {
    method: 'POST',
    body,
    headers,
    signal
  })
  if (error !== undefined) throw new Error(error.message)
  return [result]
}

/** The events of a stream until it ends, the first ones if there are many. */
async function readEvents(url: string, signal: AbortSignal): Promise<unknown[]> {
  const response = await send(url, { headers: { accept: 'text/event-stream' }, signal })
  const events: unknown[] = []
  const parser = createParser({
    onEvent: ({ data }) => void (data !== '[DONE]' && events.push(JSON.parse(data)))
  })
  const body = response.body!.pipeThrough(new TextDecoderStream())
  for (const reader = body.getReader(); events.length < MAX_EVENTS;) {
    const { done, value } = await reader.read()
    if (done) break
    parser.feed(value)
  }
  return events.slice(0, MAX_EVENTS)
}

/** The items of a turn, the first ones if there are many. */
async function readItems(url: string, signal: AbortSignal): Promise<unknown[]> {
  const headers = { 'openai-beta': 'agents=v1' }
  const items: unknown[] = []
  for (let after: string | undefined; items.length < MAX_EVENTS;) {
    const query = { order: 'asc', limit: PAGE, after }
    const page = await call<ItemPage>(url, { headers, query, signal })
    items.push(...page.data)
    if (!page.has_more || page.last_id === null) break
    after = page.last_id
  }
  return items
}

interface ItemPage {
  readonly data: readonly unknown[]
  readonly has_more: boolean
  readonly last_id: string | null
}

/** The events of a run, of a session that is read from its newest event back to the start of that run. */
async function readSessionEvents(url: string, runId: string, signal: AbortSignal): Promise<unknown[]> {
  const headers = { 'anthropic-beta': 'managed-agents-2026-04-01' }
  const prefix = `sevt_${runId}_`
  const events: EventPage['data'][number][] = []
  let page: string | undefined
  for (let left = MAX_PAGES; left > 0; left--) {
    const query = { order: 'desc', limit: PAGE, page }
    const found = await call<EventPage>(url, { headers, query, signal })
    events.push(...found.data)
    if (found.next_page === null || found.data.some(({ id }) => id === `${prefix}1`)) break
    page = found.next_page
  }
  // Answers between them have the ids of what they answer.
  const isOwn = ({ id }: { readonly id: string }) => id.startsWith(prefix)
  const from = events.findIndex(isOwn)
  if (from === -1) return []
  return events
    .slice(from, events.findLastIndex(isOwn) + 1)
    .toReversed()
    .slice(0, MAX_EVENTS)
}

interface EventPage {
  readonly data: readonly { readonly id: string }[]
  readonly next_page: string | null
}

// A thread has all runs of its session, one after the other.
function eventsOf(runId: string, events: readonly unknown[]): readonly unknown[] {
  const named = events as readonly { type?: string; runId?: string }[]
  const from = named.findIndex((event) => event.type === 'RUN_STARTED' && event.runId === runId)
  const next = named.findIndex(
    (event, at) => at > from && event.type === 'RUN_STARTED' && event.runId !== runId
  )
  return from === -1 ? [] : events.slice(from, next === -1 ? undefined : next)
}

/** The start of a run as a command of curl; undefined if its input is not known, or has files that are not repeated. */
export function startAsCurl({ start }: Pick<RunModel, 'start'>): string | undefined {
  if (start?.input === undefined || hasFiles(start.input)) return undefined
  const body = { input: start.input, ...(start.metadata && { metadata: start.metadata }) }
  return [
    `curl -N ${quote(urlOf(`${start.kind}s/${encodeURIComponent(start.name)}/stream`).href)}`,
    ...authorization(),
    `-H 'content-type: application/json'`,
    `-d ${quote(JSON.stringify(body))}`
  ].join(' \\\n  ')
}

/** The log of a run as a command of curl. */
export function logAsCurl(runId: string): string {
  return [`curl -N ${quote(urlOf(runStream(runId)).href)}`, ...authorization()].join(' \\\n  ')
}

// The token itself stays in the page.
const authorization = () => (currentToken() === undefined ? [] : ['-H "authorization: Bearer $TOKEN"'])

/** A word of a POSIX shell: XCU, section 2.2.2. */
const quote = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`

const hasFiles = (input: unknown) =>
  Array.isArray(input) &&
  input.some((part) => typeof (part as { sha256?: unknown } | null)?.sha256 === 'string')
