import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { makeProviderAgent, type ProviderName } from '../fixtures/provider-agent.ts'
import { anthropic } from '../fixtures/recorded/anthropic.ts'
import { google } from '../fixtures/recorded/google.ts'
import { openAIResponses } from '../fixtures/recorded/openai-responses.ts'
import { survive } from '../helpers/crashing.ts'
import { startProviderServer, type Answer, type Asked } from '../helpers/provider-server.ts'

// Six processes, and a run for each append.
t.setTimeout(120_000)

interface Provider {
  readonly answers: { callsTool(name: string, args: object): Answer; says(text: string): Answer }
  /** Where the next request has what the provider expects back. */
  readonly expected: object
  readonly isAnswered: (body: Asked['body']) => boolean
}

const PROGRAM = fileURLToPath(new URL('../fixtures/provider-agent.ts', import.meta.url))
const mentions = (text: string) => (body: Asked['body']) => JSON.stringify(body).includes(text)

const providers: Record<ProviderName, Provider> = {
  anthropic: {
    answers: anthropic,
    isAnswered: mentions('"tool_result"'),
    expected: {
      messages: [
        { role: 'user' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'I should look first.', signature: anthropic.signature },
            { type: 'redacted_thinking', data: anthropic.redactedThinking },
            { type: 'text', text: 'Let me look.' },
            { type: 'tool_use', id: 'toolu_01T1x1fJ34qAmk2tNTrN7Up6', name: 'look', input: { at: 'x' } }
          ]
        },
        { role: 'user', content: [{ type: 'tool_result', content: 'bees' }] }
      ]
    }
  },
  openai: {
    answers: openAIResponses,
    isAnswered: mentions('"function_call_output"'),
    expected: {
      store: false,
      include: ['reasoning.encrypted_content'],
      input: [
        { role: 'user' },
        {
          type: 'reasoning',
          id: openAIResponses.reasoningId,
          encrypted_content: openAIResponses.encryptedReasoning,
          summary: []
        },
        { type: 'function_call', call_id: 'call_5Hc2', name: 'look', arguments: '{"at":"x"}' },
        { type: 'function_call_output', call_id: 'call_5Hc2', output: 'bees' }
      ]
    }
  },
  google: {
    answers: google,
    isAnswered: mentions('"functionResponse"'),
    expected: {
      contents: [
        { role: 'user' },
        {
          role: 'model',
          parts: [
            { text: 'I should look first.', thought: true },
            {
              functionCall: { name: 'look', args: { at: 'x' } },
              thoughtSignature: google.thoughtSignature
            }
          ]
        },
        { role: 'user', parts: [{ functionResponse: { name: 'look' } }] }
      ]
    }
  }
}

/** A provider that knows by the request alone which answer is next. */
async function serve(t: Test, { answers, isAnswered }: Provider) {
  return startProviderServer(t, ({ body }) =>
    isAnswered(body) ? answers.says('Bees.') : answers.callsTool('look', { at: 'x' })
  )
}

/** Runs the program, and returns what it printed and the signal that ended it. */
async function execute(...args: string[]): Promise<{ output: string; signal: NodeJS.Signals | null }> {
  const { PATH, NODE_COMPILE_CACHE } = process.env
  const child = spawn(process.execPath, ['--conditions=@svc/source', PROGRAM, ...args], {
    env: { PATH, NODE_COMPILE_CACHE },
    stdio: ['ignore', 'pipe', 'inherit']
  })
  const [output, [, signal]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  return { output, signal: signal as NodeJS.Signals | null }
}

for (const [name, provider] of Object.entries(providers) as [ProviderName, Provider][]) {
  t.test(`${name}: its reasoning goes back to it after a kill -9 during a tool call`, async (t) => {
    const { asked, origin } = await serve(t, provider)
    const url = `sqlite:${join(t.testdir(), 'app.db')}`
    t.equal((await execute(name, origin, url, 'die')).signal, 'SIGKILL')
    t.equal(asked.length, 1)
    t.strictSame(await execute(name, origin, url, 'resume'), { output: 'Bees.', signal: null })
    t.equal(asked.length, 2, 'the recorded step is not repeated')
    t.match(asked[1]?.body, provider.expected)
  })

  t.test(`${name}: the request after a crash is the same at every point`, async (t) => {
    const { asked, origin } = await serve(t, provider)
    const make = () => makeProviderAgent(name, origin, () => 'bees')
    // Requests of a session have a cache key in common.
    const session = { options: { sessionId: 's' } }
    const unbroken = await survive(make, [], session)
    t.equal(unbroken.result?.text, 'Bees.')
    const [first, second] = asked.splice(0).map(({ body }) => body)
    t.match(second, provider.expected)
    for (let appends = 1; appends < unbroken.appends; appends++) {
      const { result } = await survive(make, [appends], session)
      t.equal(result?.text, 'Bees.')
      for (const { body } of asked.splice(0))
        t.strictSame(body, provider.isAnswered(body) ? second : first, `after ${appends} appends`)
    }
  })
}
