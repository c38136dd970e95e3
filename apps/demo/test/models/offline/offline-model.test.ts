import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import { Type } from '@sinclair/typebox'
import { createRunEngine, type RunResult } from '@svc/registry'
import { Agent } from '@svc/runtime'
import t, { type Test } from 'tap'
import { createOfflineModel } from '../../../src/models/offline/offline-model.ts'
import { calculate } from '../../../src/tools/calculate.ts'

const model = createOfflineModel({ delay: 0 })
const agent = new Agent({ name: 'offline', register: false, model, tools: [calculate] })

/** Asks with a tool of the client, and answers its call. */
async function askWithTool(t: Test, input: string, answer: unknown): Promise<RunResult> {
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  const tools = [{ name: 'shopping_list', description: 'Reads it', input: Type.Object({}) }]
  const run = await engine.start(agent, input, { tools })
  for await (const part of run.parts())
    if (part.type === 'input.request')
      await engine.answer(part.inputId, { action: 'accept', content: answer })
  return run.result()
}

t.test('calls the tool of a client that the message mentions, and says what it gave', async (t) => {
  const message = 'What is on my shopping list?'
  t.equal((await askWithTool(t, message, 'milk')).text, 'Your shopping_list says: milk')
  t.equal((await askWithTool(t, message, ['milk'])).text, 'Your shopping_list says: ["milk"]')
  t.match(await askWithTool(t, 'What is 6 * 7?', 'unused'), { text: '6 * 7 = 42' })
})

t.test('without its tools it says so', async (t) => {
  const prompt: LanguageModelV4Prompt = [
    { role: 'user', content: [{ type: 'text', text: 'What is a run?' }] }
  ]
  const chunks = await Array.fromAsync((await model.doStream({ prompt })).stream)
  const text = chunks.map((chunk) => (chunk.type === 'text-delta' ? chunk.delta : '')).join('')
  t.match(text, /^I could not search the documents/)
})
