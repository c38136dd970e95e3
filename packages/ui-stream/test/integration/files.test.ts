import { Type } from '@sinclair/typebox'
import { defineRunnable, type ContentPart } from '@svc/registry'
import { authenticate, painter, PNG, seeing } from '@tools/wires/agents'
import { checkOwnFile } from '@tools/wires/wire-checks'
import t from 'tap'
import { chatApp } from '../helpers/chat-app.ts'
import { TestChat, type TestMessage } from '../helpers/test-chat.ts'

t.test('files that a user attaches are content of the input', async (t) => {
  const { agent, inputs } = seeing()
  const { api } = await chatApp(t, { runnables: [agent], engine: { record: { files: true } } })
  const chat = new TestChat(api('eyes'))
  await chat.sendMessage({
    text: 'Look',
    files: [
      { type: 'file', mediaType: 'image/png', filename: 'dot.png', url: `data:image/png;base64,${PNG}` },
      { type: 'file', mediaType: 'application/octet-stream', url: `data:;base64,${PNG}` },
      { type: 'file', mediaType: 'text/plain', url: 'data:text/plain,a%20b' },
      { type: 'file', mediaType: 'application/pdf', url: 'https://example.com/a.pdf' }
    ]
  })
  t.equal(chat.text, 'seen')
  t.strictSame(inputs, [
    [
      { type: 'image', mimeType: 'image/png', filename: 'dot.png', data: PNG },
      { type: 'image', mimeType: 'image/png', data: PNG },
      { type: 'file', mimeType: 'text/plain', data: Buffer.from('a b').toString('base64') },
      { type: 'file', mimeType: 'application/pdf', url: 'https://example.com/a.pdf' },
      { type: 'text', text: 'Look' }
    ] satisfies ContentPart[]
  ])

  const { messages } = (await (await fetch(`${api('eyes')}/${chat.id}`)).json()) as {
    messages: TestMessage[]
  }
  const [image, , note, link, text] = messages[0]!.parts
  t.match(image, { type: 'file', mediaType: 'image/png', filename: 'dot.png', url: /^http.*\/files\// })
  t.match(note, { type: 'file', mediaType: 'text/plain' })
  t.match(link, { url: 'https://example.com/a.pdf' })
  t.match(text, { text: 'Look' })
  const { url } = image as { url: string }
  t.equal(
    Buffer.from(await (await fetch(url)).arrayBuffer()).toString('base64'),
    PNG,
    'kept files have a URL'
  )
})

t.test('files of a run have a URL at the service, for their owner alone', async (t) => {
  const headers = { authorization: 'Bearer ann' }
  const { api, origin } = await chatApp(t, { runnables: [painter], engine: { authenticate } })
  const chat = new TestChat(api('painter'), { headers })
  await chat.sendMessage({ text: 'Paint' })
  const part = chat.lastMessage!.parts.at(-1) as { type: string; url: string }
  t.match(part, { type: 'file', mediaType: 'image/png', providerMetadata: { svc: { filename: 'dot.png' } } })
  t.ok(part.url.startsWith(`${origin}/api/chat/agent/painter/`))
  await checkOwnFile(t, part.url)

  const proxied = await chatApp(t, { runnables: [painter], options: { url: 'https://chat.example/x/' } })
  const other = new TestChat(proxied.api('painter'))
  await other.sendMessage({ text: 'Paint' })
  t.match(other.lastMessage!.parts.at(-1), { url: /^https:\/\/chat\.example\/x\/chat\/agent\/painter\// })
})

t.test('a runnable with an input schema takes its input from a data part', async (t) => {
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
  const { api } = await chatApp(t, { runnables: [flow] })
  const chat = new TestChat(api('workflow/flow'))
  await chat.sendMessage({ parts: [{ type: 'data-input', data: { n: 1 } }] })
  t.strictSame(inputs, [{ n: 1 }])
  await chat.sendMessage({ parts: [{ type: 'data-input', data: { n: 'x' } }] })
  t.match(JSON.parse(chat.error!.message), { code: 'RUN_ERR_BAD_INPUT' })
})
