import { Type } from '@sinclair/typebox'
import { defineRunnable, type ContentPart } from '@svc/registry'
import { authenticate, painter, PNG, seeing } from '@tools/wires/agents'
import { checkOwnFile } from '@tools/wires/wire-checks'
import t from 'tap'
import { agUiApp } from '../helpers/agui-app.ts'
import { TestAgent } from '../helpers/test-agent.ts'

t.test('files that a user attaches are content of the input', async (t) => {
  const { agent, inputs } = seeing()
  const { url } = await agUiApp(t, { runnables: [agent], engine: { record: { files: true } } })
  const client = new TestAgent({ url: url('eyes') })
  client.addMessage({
    id: 'm1',
    role: 'user',
    content: [
      { type: 'text', text: 'Look' },
      {
        type: 'image',
        source: { type: 'data', value: PNG, mimeType: 'image/png' },
        metadata: { filename: 'dot.png' }
      },
      { type: 'document', source: { type: 'data', value: PNG, mimeType: 'image/png; charset=binary' } },
      { type: 'binary', mimeType: 'application/octet-stream', data: PNG } as never,
      {
        type: 'document',
        source: { type: 'url', value: 'https://example.com/a.pdf', mimeType: 'application/pdf' }
      },
      { type: 'image', source: { type: 'url', value: 'https://example.com/a' } }
    ]
  })
  await client.runAgent()
  t.equal(client.text, 'seen')
  t.strictSame(inputs, [
    [
      { type: 'text', text: 'Look' },
      { type: 'image', mimeType: 'image/png', filename: 'dot.png', data: PNG },
      { type: 'image', mimeType: 'image/png', data: PNG },
      { type: 'image', mimeType: 'image/png', data: PNG },
      { type: 'file', mimeType: 'application/pdf', url: 'https://example.com/a.pdf' },
      { type: 'image', mimeType: 'image/png', url: 'https://example.com/a' }
    ] satisfies ContentPart[]
  ])

  const page = new TestAgent({ url: url('eyes'), threadId: client.threadId })
  await page.connectAgent()
  const [text, image, , , link] = page.messages[0]!.content as {
    text?: string
    source: { value: string }
    metadata?: object
  }[]
  t.equal(text!.text, 'Look')
  t.strictSame(image!.metadata, { filename: 'dot.png' })
  t.equal(link!.source.value, 'https://example.com/a.pdf')
  const kept = await fetch(image!.source.value)
  t.equal(Buffer.from(await kept.arrayBuffer()).toString('base64'), PNG, 'kept files have a URL')
})

t.test('files of a run have a URL at the service, for their owner alone', async (t) => {
  const headers = { authorization: 'Bearer ann' }
  const { url, origin } = await agUiApp(t, { runnables: [painter], engine: { authenticate } })
  const client = new TestAgent({ url: url('painter'), headers })
  await client.say('Paint')
  const { content } = client.messages.at(-1) as unknown as { content: { url: string } }
  t.match(client.messages.at(-1), {
    role: 'activity',
    activityType: 'file',
    content: { mimeType: 'image/png', filename: 'dot.png', size: Number }
  })
  t.ok(content.url.startsWith(`${origin}/api/ag-ui/agent/painter/threads/`))
  await checkOwnFile(t, content.url)

  const proxied = await agUiApp(t, { runnables: [painter], options: { url: 'https://x.example/y/' } })
  const other = new TestAgent({ url: proxied.url('painter') })
  await other.say('Paint')
  t.match(other.messages.at(-1)!.content, {
    url: /^https:\/\/x\.example\/y\/ag-ui\/agent\/painter\/threads\//
  })
})

t.test('a runnable with an input schema takes its input from the request', async (t) => {
  const inputs: unknown[] = []
  const flow = defineRunnable({
    kind: 'workflow',
    name: 'flow',
    inputSchema: Type.Object({ n: Type.Number() }),
    run: async (input) => {
      inputs.push(input)
      return 'done'
    }
  })
  const { url } = await agUiApp(t, { runnables: [flow] })
  const client = new TestAgent({ url: url('workflow/flow') })
  await client.runAgent({ forwardedProps: { svc: { input: { n: 1 } } } })
  t.equal(client.text, 'done')
  t.strictSame(inputs, [{ n: 1 }])
  await t.rejects(client.runAgent({ forwardedProps: { svc: { input: { n: 'x' } } } }), {
    message: /RUN_ERR_BAD_INPUT/
  })
})
