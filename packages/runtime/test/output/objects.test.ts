import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { Type } from '@sinclair/typebox'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import { makeAgent } from '../helpers/make-agent.ts'

const output = Type.Object({ city: Type.String(), days: Type.Integer({ minimum: 1 }) })
const whole = { city: 'Rome', days: 3 }

/** An agent whose model says only what the test has it say. */
function makeSpeaker() {
  const { promise: said, resolve } = Promise.withResolvers<(delta: string | undefined) => void>()
  const model = scriptedModel('')
  let isCanceled = false
  model.doStream = async () => ({
    stream: new ReadableStream<LanguageModelV4StreamPart>({
      start(controller) {
        controller.enqueue({ type: 'stream-start', warnings: [] })
        controller.enqueue({ type: 'text-start', id: 't' })
        resolve((delta) => {
          if (delta !== undefined) return controller.enqueue({ type: 'text-delta', id: 't', delta })
          controller.enqueue({ type: 'text-end', id: 't' })
          controller.enqueue({
            type: 'finish',
            finishReason: { unified: 'stop', raw: 'stop' },
            usage: {
              inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
              outputTokens: { total: 1, text: 1, reasoning: 0 }
            }
          })
          controller.close()
        })
      },
      cancel() {
        isCanceled = true
      }
    })
  })
  const agent = new Agent({ name: 'speaker', model, output, register: false })
  return { agent, said, canceled: () => isCanceled }
}

t.test('the answer as it is written, then the validated one', async (t) => {
  const { agent, said } = makeSpeaker()
  const objects = agent.objects('Plan')
  const first = objects.next()
  const say = await said
  say('{"city":"Ro')
  t.strictSame(await first, { done: false, value: { partial: { city: 'Ro' } } })
  const second = objects.next()
  say('me","da')
  t.strictSame(await second, { done: false, value: { partial: { city: 'Rome' } } })
  say('ys":3}')
  say(undefined)
  const rest = await Array.fromAsync(objects)
  t.strictSame(rest.at(-1), { structured: whole })
  for (const each of rest.slice(0, -1)) t.strictSame(each, { partial: whole })
})

t.test('an answer that is sent back begins anew', async (t) => {
  const { agent } = makeAgent(['{"city":"Oslo","days":0}', '{"city":"Rome","days":3}'], { output })
  const seen = await Array.fromAsync(agent.objects('Plan'))
  t.strictSame(seen.at(-1), { structured: whole })
  const partials = seen.flatMap((each) => ('partial' in each ? [each.partial] : []))
  for (const partial of partials)
    t.ok(['Oslo', 'Rome'].includes((partial as typeof whole).city), JSON.stringify(partial))
})

t.test('the reader may leave, which ends the run', async (t) => {
  const { agent, said, canceled } = makeSpeaker()
  const objects = agent.objects('Plan')
  const first = objects.next()
  const say = await said
  say('{"city":"Ro')
  await first
  await objects.return()
  t.ok(canceled())
})

t.test('errors of the run reach the reader', async (t) => {
  const { agent } = makeAgent(['no', 'no'], { output })
  await t.rejects(Array.fromAsync(agent.objects('Plan')), { code: 'RUN_ERR_BAD_OUTPUT' })
  const { agent: plain } = makeAgent('Hello')
  await t.rejects(Array.fromAsync(plain.objects('Plan')), { code: 'RUN_ERR_BAD_AGENT', message: /output/ })
})
