import type { ContentPart } from '@svc/registry'
import { scriptedRunnable } from '@svc/testing'
import { authenticate, painter, PNG, seeing } from '@tools/wires/agents'
import { checkOwnFile } from '@tools/wires/wire-checks'
import t from 'tap'
import { openAiApp } from '../helpers/openai-app.ts'

t.test('images and files that a user sends are content of the input', async (t) => {
  const { agent: eyes, inputs } = seeing()
  const { client } = await openAiApp(t, { runnables: [eyes] })
  const { id, output_text: text } = await client().responses.create({
    model: 'eyes',
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'Look' },
          { type: 'input_image', image_url: `data:image/png;base64,${PNG}`, detail: 'auto' },
          { type: 'input_image', image_url: 'https://example.com/a.jpg', detail: 'auto' },
          { type: 'input_file', filename: 'a.txt', file_data: 'data:text/plain;base64,YSBi' },
          { type: 'input_file', file_url: 'https://example.com/a.pdf' }
        ]
      }
    ]
  })
  t.equal(text, 'seen')
  t.strictSame(inputs, [
    [
      { type: 'text', text: 'Look' },
      { type: 'image', mimeType: 'image/png', data: PNG },
      { type: 'image', mimeType: 'image/jpeg', url: 'https://example.com/a.jpg' },
      { type: 'file', mimeType: 'text/plain', filename: 'a.txt', data: 'YSBi' },
      { type: 'file', mimeType: 'application/pdf', url: 'https://example.com/a.pdf' }
    ] satisfies ContentPart[]
  ])
  const { data } = await client().responses.inputItems.list(id)
  t.match(data, [
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'Look' },
        { type: 'input_file', filename: 'image/png' },
        { type: 'input_image', image_url: 'https://example.com/a.jpg' },
        { type: 'input_file', filename: 'a.txt' },
        { type: 'input_file', file_url: 'https://example.com/a.pdf' }
      ]
    }
  ])
})

t.test('files whose types say nothing, on both APIs', async (t) => {
  const { agent: eyes, inputs } = seeing()
  const { client } = await openAiApp(t, { runnables: [eyes] })
  const { chat, responses } = client()
  const url = `data:application/octet-stream;base64,${PNG}`
  await responses.create({
    model: 'eyes',
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_image', image_url: `data:;base64,${PNG}`, detail: 'auto' },
          { type: 'input_file', filename: 'dot', file_data: PNG }
        ]
      }
    ]
  })
  const ask = (image: string) =>
    chat.completions.create({
      model: 'eyes',
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: image } }] }]
    })
  await ask(url)
  await ask(`data:image/png;charset=utf-8;base64,${PNG}`)
  t.match(inputs, [
    [{ mimeType: 'image/png' }, { mimeType: 'image/png', filename: 'dot' }],
    [{ type: 'image', mimeType: 'image/png', data: PNG }],
    [{ type: 'image', mimeType: 'image/png', data: PNG }]
  ])
  await t.rejects(ask('data:application/octet-stream;base64,AAEC'), {
    status: 400,
    code: 'RUN_ERR_BAD_INPUT',
    message: /"application\/octet-stream" does not say what the file is/
  })
})

t.test('citations are annotations of the text', async (t) => {
  const cites = scriptedRunnable(
    [
      { type: 'text', text: 'See' },
      { type: 'citation', url: 'https://example.com/a', title: 'A' },
      { type: 'citation', url: 'https://example.com/b' },
      { type: 'citation', documentId: 'doc-1', title: 'B' },
      { type: 'text', text: ' there' }
    ],
    { name: 'cites' }
  )
  const { client } = await openAiApp(t, { runnables: [cites] })
  const stream = client().responses.stream({ model: 'cites', input: 'Go' })
  const { output } = await stream.finalResponse()
  t.match(output, [
    {
      content: [
        {
          text: 'See there',
          annotations: [
            { type: 'url_citation', url: 'https://example.com/a', title: 'A', start_index: 3, end_index: 3 },
            { type: 'url_citation', url: 'https://example.com/b', title: 'https://example.com/b' }
          ]
        }
      ]
    }
  ])
})

t.test('files that a run makes have a URL at the service, for their owner alone', async (t) => {
  const { client, origin } = await openAiApp(t, { runnables: [painter], engine: { authenticate } })
  const urlOf = async (openai: ReturnType<typeof client>) => {
    const { output } = await openai.responses.create({ model: 'painter', input: 'Paint' })
    const [message] = output
    const [content] = message!.type === 'message' ? message!.content : []
    const [annotation] = content!.type === 'output_text' ? content!.annotations : []
    t.match(annotation, { type: 'url_citation', title: 'dot.png' })
    return annotation!.type === 'url_citation' ? annotation!.url : ''
  }
  const url = await urlOf(client('ann'))
  t.ok(url.startsWith(`${origin}/v1/files/`))
  const fileId = /files\/(.+)\/content/.exec(url)![1]!
  const found = await client('ann').files.content(decodeURIComponent(fileId))
  t.equal(found.headers.get('content-type'), 'image/png')
  t.equal(Buffer.from(await found.arrayBuffer()).toString('base64'), PNG)
  await checkOwnFile(t, url)
  await t.rejects(client('ann').files.content('file_x'), { status: 404, code: 'RUN_ERR_FILE_NOT_FOUND' })

  const proxied = await openAiApp(t, { runnables: [painter], options: { url: 'https://ai.example/v1/' } })
  t.match(await urlOf(proxied.client()), /^https:\/\/ai\.example\/v1\/files\//)
})
