import { Type } from '@sinclair/typebox'
import { Agent, defineTool, toolContent, type AgentOptions, type Model } from '@svc/runtime'
import type { Test } from 'tap'
import { collect, makeContext } from './make-agent.ts'
import { startFileServer, startProviderServer, type Answer, type Asked } from './provider-server.ts'

/** A provider's wire protocol. */
export interface Wire {
  readonly takesUrls: boolean
  model(origin: string): Model
  /** A stream of these texts, with 7 input and 3 output tokens. */
  says(...texts: string[]): Answer
  /** A stream that calls a tool. */
  calls(toolName: string, args: object): Answer
  /** A stream with JSON, in whatever way it was requested. */
  json(asked: Asked, value: object): Answer
  refuses(status: number, message: string): Answer
  /** Extracts the output schema from a request. */
  schemaIn(body: Asked['body']): unknown
}

/** The API key of the models. */
export const KEY = 'sk-test-4711aB'
const PIXEL = Buffer.from('a png, nearly').toString('base64')
const look = defineTool({
  name: 'look',
  description: 'Looks',
  input: Type.Object({ where: Type.String() }),
  execute: ({ where }) => ({ seen: `a cat in ${where}` })
})
const snap = defineTool({
  name: 'snap',
  description: 'Takes a picture',
  input: Type.Object({}),
  execute: () => toolContent([{ type: 'image', mimeType: 'image/png', data: PIXEL }])
})

/** Runs an agent with a provider's own package against a local server with its protocol. */
export function testProvider(t: Test, wire: Wire): void {
  const runWith = async (
    t: Test,
    answers: readonly Answer[] | ((asked: Asked, index: number) => Answer),
    options: Partial<AgentOptions> = {},
    input: unknown = 'Hello'
  ) => {
    const { asked, origin } = await startProviderServer(t, answers)
    const retry = { attempts: 2, baseDelay: 1 }
    const agent = new Agent({ name: 'remote', model: wire.model(origin), register: false, retry, ...options })
    const { context, logged } = makeContext()
    return { ...(await collect(agent.stream(input, context))), asked, logged }
  }

  t.test('text is streamed, with its usage', async (t) => {
    const run = await runWith(t, [wire.says('Hel', 'lo')], { instructions: 'Be brief.' })
    t.equal(run.error, undefined)
    t.strictSame(
      run.ofType('text').map(({ text }) => text),
      ['Hel', 'lo']
    )
    const usage = { promptTokens: 7, completionTokens: 3, totalTokens: 10 }
    t.match(run.parts.at(-1), { type: 'finish', finishReason: 'stop', usage })
    t.match(JSON.stringify(run.asked[0]?.body), /Be brief\..*Hello|Hello.*Be brief\./)
  })

  t.test('a tool call, its result and the answer', async (t) => {
    const run = await runWith(t, [wire.calls('look', { where: 'Rome' }), wire.says('A cat.')], {
      tools: [look]
    })
    t.match(run.ofType('tool.call'), [{ toolName: 'look', args: { where: 'Rome' } }])
    t.match(run.ofType('tool.result'), [{ result: { seen: 'a cat in Rome' } }])
    t.equal(run.ofType('text').at(-1)?.text, 'A cat.')
    t.match(JSON.stringify(run.asked[0]?.body['tools']), /"look"/)
    t.match(JSON.stringify(run.asked[1]?.body), /a cat in Rome/)
  })

  t.test('an image that a tool gives', async (t) => {
    const run = await runWith(t, [wire.calls('snap', {}), wire.says('Seen.')], { tools: [snap] })
    t.equal(run.error, undefined)
    t.match(JSON.stringify(run.asked[1]?.body), PIXEL)
    t.notMatch(JSON.stringify(run.parts), PIXEL)
  })

  t.test('structured output, through the provider’s own way', async (t) => {
    const output = Type.Object({ city: Type.String() })
    const run = await runWith(t, (asked) => wire.json(asked, { city: 'Rome' }), { output })
    t.equal(run.error, undefined)
    t.match(run.ofType('structured'), [{ value: { city: 'Rome' } }])
    t.match(wire.schemaIn(run.asked[0]!.body), { type: 'object', properties: { city: { type: 'string' } } })
    const mended = await runWith(
      t,
      (asked, index) => wire.json(asked, index === 0 ? { town: 1 } : { city: 'Rome' }),
      { output }
    )
    t.match(mended.ofType('structured'), [{ value: { city: 'Rome' } }])
    t.equal(mended.asked.length, 2)
  })

  t.test('images and files', async (t) => {
    const pdf = Buffer.from('%PDF-1.4 x').toString('base64')
    const input = [
      { type: 'text', text: 'Look' },
      { type: 'image', mimeType: 'image/png', data: PIXEL },
      { type: 'file', mimeType: 'application/pdf', filename: 'a.pdf', data: pdf }
    ]
    const run = await runWith(t, [wire.says('Seen.')], {}, input)
    t.equal(run.error, undefined)
    const sent = JSON.stringify(run.asked[0]?.body)
    t.ok(sent.includes(PIXEL) && sent.includes(pdf))
  })

  t.test('an image of a URL: passed on, or fetched where the provider does not', async (t) => {
    const host = await startFileServer(t, 'an image')
    const input = [{ type: 'image', mimeType: 'image/png', url: `http://${host}/a.png` }]
    const run = await runWith(t, [wire.says('Seen.')], { urls: { allowHosts: [host] } }, input)
    t.equal(run.error, undefined)
    const expected = wire.takesUrls ? `http://${host}/a.png` : Buffer.from('an image').toString('base64')
    t.ok(JSON.stringify(run.asked[0]?.body).includes(expected))
  })

  t.test('refusals, without the words of the provider', async (t) => {
    const cases: [status: number, code: string, calls: number][] = [
      [401, 'RUN_ERR_MODEL_AUTH', 1],
      [400, 'RUN_ERR_MODEL_REFUSED', 1],
      [429, 'RUN_ERR_MODEL_RATE_LIMITED', 2],
      [500, 'RUN_ERR_MODEL_FAILED', 2]
    ]
    for (const [status, code, calls] of cases) {
      const run = await runWith(t, [wire.refuses(status, `INTERNAL ${KEY}`)])
      t.match(run.error, { code }, String(status))
      t.equal(run.asked.length, calls, String(status))
      t.notMatch(
        JSON.stringify([run.parts, run.logged, run.error?.message, run.error?.stack]),
        /INTERNAL|sk-test/
      )
    }
  })
}
