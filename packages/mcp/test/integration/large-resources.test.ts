import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { createInProcessStores } from '@svc/registry'
import t from 'tap'
import { connect, mcpApp, REVISIONS } from '../helpers/mcp-app.ts'

const PAGE = 1_048_576
const texts = Array.from({ length: 30 }, (_, n) => `${n} `.padEnd(100_000, '"'))
const writer = {
  kind: 'agent' as const,
  name: 'writer',
  async *stream() {
    for (const text of texts) yield { type: 'text' as const, text }
  }
}

for (const revision of REVISIONS)
  void t.test(`${revision}: a large log and a large file are read page by page`, async (t) => {
    const { url, runs } = await mcpApp(t, {
      runnables: [writer],
      engine: { stores: createInProcessStores() }
    })
    const client = await connect(t, url, { revision })
    const call = await client.callTool({ name: 'writer', arguments: { message: 'x' } })
    t.equal((call.content as { text: string }[])[0]?.text, texts.join(''))
    const { _meta: meta } = call
    const { runId } = meta as { runId: string }

    const lines: string[] = []
    let next: string | undefined = `run://${runId}`
    for (; next !== undefined;) {
      const { contents } = await client.readResource({ uri: next })
      const [page, link] = contents as { uri: string; mimeType: string; text: string }[]
      t.match(page, { uri: next, mimeType: 'application/x-ndjson' })
      t.ok(page!.text.length <= PAGE, `${page!.text.length}`)
      lines.push(...page!.text.trimEnd().split('\n'))
      if (link !== undefined) t.equal(link.text, `# It continues here:\r\n${link.uri}\r\n`)
      if (link !== undefined) t.equal(link.mimeType, 'text/uri-list')
      next = link?.uri
    }
    const parts: unknown[] = []
    for await (const part of runs.parts(runId)) parts.push(part)
    t.same(
      lines.map((line) => JSON.parse(line) as unknown),
      parts
    )

    const content = Buffer.alloc(2_000_000, 'file')
    const file = await runs.stores.files!.put(runId, { mimeType: 'application/pdf', content })
    const blobs: string[] = []
    next = `run://${runId}/files/${file.fileId}`
    for (; next !== undefined;) {
      const { contents } = await client.readResource({ uri: next })
      const [page, link] = contents as { uri: string; mimeType: string; blob: string }[]
      t.match(page, { uri: next, mimeType: 'application/pdf' })
      blobs.push(page!.blob)
      next = link?.uri
    }
    t.equal(blobs.length, 3)
    t.ok(Buffer.from(blobs.join(''), 'base64').equals(content), 'the pages can be joined')
    for (const uri of [
      `run://${runId}?after=x`,
      `run://${runId}?from=1`,
      `run://${runId}/files/${file.fileId}?from=2000000`
    ])
      await t.rejects(client.readResource({ uri }), { message: /Resource not found/ })
  })

void t.test('a batch is answered one after another, calls of tools at the same time', async (t) => {
  const waiting = Promise.withResolvers<void>()
  const slow = { kind: 'agent' as const, name: 'slow', run: () => waiting.promise.then(() => 'Done') }
  const { url, runs, app } = await mcpApp(t, { runnables: [writer, slow] })
  const { registry } = app
  const run = await runs.start(registry.get('agent', 'writer')!, 'x')
  await run.result()
  const uri = `run://${run.runId}`
  const batch = [
    { id: 1, method: 'tools/call', params: { name: 'slow', arguments: { message: 'x' } } },
    { id: 2, method: 'resources/read', params: { uri } },
    { id: 3, method: 'resources/read', params: { uri: 'run://none' } },
    { id: 4, method: 'ping' }
  ]
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const sent = request(url, { method: 'POST', headers })
  sent.end(JSON.stringify(batch.map((message) => ({ jsonrpc: '2.0', ...message }))))
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const ids: unknown[] = []
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) {
    text += chunk as string
    const frames = text.split('\n\n')
    text = frames.pop()!
    for (const frame of frames) ids.push((JSON.parse(frame.slice(6)) as { id: number }).id)
    if (ids.includes(4)) waiting.resolve()
  }
  t.same(ids, [2, 3, 4, 1])
})
