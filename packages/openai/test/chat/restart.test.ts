import OpenAI, { APIError } from 'openai'
import { KillableService } from '@tools/wires/killable-service'
import t from 'tap'
import { locateTool, said } from './helpers/completions.ts'

const SERVICE = new URL('helpers/killable-service.ts', import.meta.url)
const model = 'support'
const tools = [locateTool]

t.setTimeout(120_000)

const clientOf = ({ origin }: KillableService, path: string) =>
  new OpenAI({ baseURL: `${origin}/${path}`, apiKey: 'none', maxRetries: 0 })

t.test('kill -9 between a call and its output, and in the middle of an answer', async (t) => {
  const service = new KillableService(t, SERVICE)
  await service.start()
  const messages = said('Where am I?')
  const ask = async (path: string) => {
    const stream = clientOf(service, path).chat.completions.stream({ model, messages, tools })
    const { id, choices } = await stream.finalChatCompletion()
    return { id, path, answer: choices[0]!.message }
  }
  const asked = [await ask('v1'), await ask('kept')]
  const body = { model, messages: said('Count'), stream: true } as const
  const counting = await clientOf(service, 'v1').chat.completions.create(body)
  let text = ''
  const reading = (async () => {
    for await (const { choices } of counting) {
      text += choices[0]!.delta.content ?? ''
      if (text === 'one two') await service.kill()
    }
  })()
  const err = await reading.catch((thrown: unknown) => thrown)
  t.ok(err instanceof Error && !(err instanceof APIError), 'the stream breaks off: it is no whole answer')
  t.equal(text, 'one two')

  await service.start()
  for (const { id, path, answer } of asked) {
    t.match(answer, { content: 'Let me see', tool_calls: [{ function: { arguments: '{"exact":true}' } }] })
    const output = { role: 'tool' as const, tool_call_id: answer.tool_calls![0]!.id, content: 'Oslo' }
    const rest = await clientOf(service, path)
      .chat.completions.stream({ model, messages: [...messages, answer, output], tools })
      .finalChatCompletion()
    t.equal(rest.choices[0]!.message.content, 'You are in Oslo')
    const isSame = path === 'kept'
    t.equal(
      rest.id.startsWith(`${id}_`),
      isSame,
      isSame ? 'the same run' : 'that run has ended; another answers'
    )
  }
})
