import { defineRunnable } from '@svc/registry'
import t from 'tap'
import { connect, mcpApp, REVISIONS } from '../helpers/mcp-app.ts'

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const painter = defineRunnable({
  kind: 'agent',
  name: 'painter',
  describe: () => ({ skills: [{ name: 'oil', description: 'Paints in oil' }] }),
  async *stream(_, { runId, stores }) {
    yield { type: 'tool.call', toolCallId: 'c', toolName: 'brush', args: {} }
    yield { type: 'tool.result', toolCallId: 'c', toolName: 'brush', result: 'ok', durationMs: 1 }
    yield { type: 'data', name: 'progress', value: { progress: 5, total: 10, message: 'half' } }
    for (const mimeType of ['image/png', 'application/pdf']) {
      const { fileId, size, sha256 } = await stores.files!.put(runId, {
        mimeType,
        content: Buffer.from(PNG, 'base64')
      })
      yield { type: 'file', fileId, mimeType, size, sha256, filename: `a.${mimeType.split('/')[1]}` }
    }
    yield { type: 'text', text: 'Painted' }
  }
})
const engine = {
  authenticate: ({ token }: { token?: string }) => (token === undefined ? null : { sub: token, scopes: [] })
}

for (const revision of REVISIONS) {
  void t.test(`${revision}: files are in a result or linked, and read by their owner`, async (t) => {
    const { url, runs } = await mcpApp(t, { runnables: [painter], engine })
    const client = await connect(t, url, { revision, token: 'ann' })
    const { content, _meta } = await client.callTool({ name: 'painter', arguments: { message: 'x' } })
    t.match(content, [
      { type: 'text', text: 'Painted' },
      { type: 'image', data: PNG, mimeType: 'image/png' },
      { type: 'resource_link', name: 'a.pdf', mimeType: 'application/pdf', uri: /^run:\/\/.+\/files\// }
    ])
    const link = (content as { uri?: string }[])[2]!.uri!
    const { contents } = await client.readResource({ uri: link })
    t.match(contents, [{ mimeType: 'application/pdf', blob: PNG }])

    const uri = `run://${String(_meta?.['runId'])}`
    t.match((await client.listResources()).resources, [{ uri, title: /^agent painter/ }])
    const [log] = (await client.readResource({ uri })).contents as { text: string }[]
    const parts = log!.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string })
    t.match(parts.at(0), { type: 'start' })
    t.match(parts.at(-1), { type: 'finish' })
    t.ok(await runs.find(String(_meta?.['runId'])), 'other surfaces find the run')

    const other = await connect(t, url, { revision, token: 'bob' })
    t.strictSame((await other.listResources()).resources, [])
    for (const hidden of [uri, link, 'run://nobody', 'file:///etc/passwd'])
      await t.rejects(other.readResource({ uri: hidden }), { code: -32602 }, hidden)
  })

  void t.test(`${revision}: progress is told to clients that ask for it`, async (t) => {
    const { url } = await mcpApp(t, { runnables: [painter] })
    const client = await connect(t, url, { revision })
    const seen: unknown[] = []
    await client.callTool(
      { name: 'painter', arguments: { message: 'x' } },
      { onprogress: (progress) => seen.push(progress) }
    )
    t.match(seen, [
      { progress: 1, message: 'Calls brush' },
      { progress: 5, total: 10, message: 'half' },
      { progress: 6, message: 'Has made a.png' },
      { progress: 7, message: 'Has made a.pdf' }
    ])
  })

  void t.test(`${revision}: skills are prompts`, async (t) => {
    const { url } = await mcpApp(t, { runnables: [painter] })
    const client = await connect(t, url, { revision })
    t.match((await client.listPrompts()).prompts, [{ name: 'painter_oil', description: 'Paints in oil' }])
    const { messages } = await client.getPrompt({ name: 'painter_oil', arguments: { message: 'a cat' } })
    t.match(messages, [{ role: 'user', content: { type: 'text', text: /"painter".*"oil": a cat/ } }])
    await t.rejects(client.getPrompt({ name: 'nobody' }), { code: -32602 })
  })
}
