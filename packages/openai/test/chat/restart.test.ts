import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import OpenAI, { APIError } from 'openai'
import t, { type Test } from 'tap'
import { locateTool, said } from './helpers/completions.ts'

const SERVICE = new URL('helpers/killable-service.ts', import.meta.url).pathname
const model = 'support'
const tools = [locateTool]

t.setTimeout(120_000)

/** A service whose processes follow each other at one address. */
class Service {
  readonly #url: string
  #child: ChildProcess | undefined
  #port = '0'

  constructor(t: Test) {
    this.#url = `sqlite:${join(t.testdir(), 'runs.db')}`
    t.teardown(() => this.kill())
  }

  async start(): Promise<void> {
    const { NODE_OPTIONS: _, ...env } = process.env
    const args = ['--conditions=@svc/source', SERVICE, this.#url, this.#port]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], env })
    this.#child = child
    const [line] = (await once(child.stdout, 'data')) as [Buffer]
    this.#port = String(line).trim()
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }

  client(path: string): OpenAI {
    return new OpenAI({ baseURL: `http://127.0.0.1:${this.#port}/${path}`, apiKey: 'none', maxRetries: 0 })
  }
}

t.test('kill -9 between a call and its output, and in the middle of an answer', async (t) => {
  const service = new Service(t)
  await service.start()
  const messages = said('Where am I?')
  const ask = async (path: string) => {
    const stream = service.client(path).chat.completions.stream({ model, messages, tools })
    const { id, choices } = await stream.finalChatCompletion()
    return { id, path, answer: choices[0]!.message }
  }
  const asked = [await ask('v1'), await ask('kept')]
  const body = { model, messages: said('Count'), stream: true } as const
  const counting = await service.client('v1').chat.completions.create(body)
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
    const rest = await service
      .client(path)
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
