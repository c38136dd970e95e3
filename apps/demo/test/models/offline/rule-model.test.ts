import type { LanguageModelV4Prompt, LanguageModelV4ToolResultOutput } from '@ai-sdk/provider'
import t from 'tap'
import { readPrompt } from '../../../src/models/offline/rule-model.ts'

const user = (text: string): LanguageModelV4Prompt[number] => ({
  role: 'user',
  content: [{ type: 'text', text }]
})
const call = (toolCallId: string, input: unknown): LanguageModelV4Prompt[number] => ({
  role: 'assistant',
  content: [{ type: 'tool-call', toolCallId, toolName: 'calculate', input }]
})
const result = (
  toolCallId: string,
  output: LanguageModelV4ToolResultOutput
): LanguageModelV4Prompt[number] => ({
  role: 'tool',
  content: [{ type: 'tool-result', toolCallId, toolName: 'calculate', output }]
})

t.test('messages, instructions and outcomes', async (t) => {
  const conversation = readPrompt([
    { role: 'system', content: 'Be brief.' },
    user('1+1?'),
    call('a', { expression: '1+1' }),
    result('a', { type: 'json', value: { value: '2' } }),
    { role: 'assistant', content: [{ type: 'text', text: '2' }] },
    user('2+2?'),
    call('b', '{"expression":"2+2"}'),
    result('b', { type: 'error-text', value: 'no' }),
    result('unknown', { type: 'text', value: 'dropped' })
  ])
  t.strictSame(conversation, {
    earlier: ['1+1?'],
    message: '2+2?',
    outcomes: [{ toolName: 'calculate', args: { expression: '2+2' }, error: 'no' }],
    instructions: 'Be brief.',
    situation: ''
  })
})

t.test('every form of a tool result is read', async (t) => {
  const cases: [LanguageModelV4ToolResultOutput, object][] = [
    [{ type: 'text', value: 'plain' }, { result: 'plain' }],
    [{ type: 'error-text', value: 'no' }, { error: 'no' }],
    [{ type: 'execution-denied', reason: 'not now' }, { error: 'not now' }],
    [{ type: 'execution-denied' }, { error: 'it was not permitted' }]
  ]
  for (const [output, expected] of cases)
    t.match(readPrompt([user('x'), call('a', {}), result('a', output)]).outcomes, [expected])
})

t.test('files are not read, and an empty prompt is no fault', async (t) => {
  const data = { type: 'data' as const, data: 'aGk=' }
  const { message } = readPrompt([
    {
      role: 'user',
      content: [
        { type: 'text', text: 'see' },
        { type: 'file', mediaType: 'image/png', data }
      ]
    }
  ])
  t.equal(message, 'see')
  const situation = '<situation>\nMonday.\n</situation>'
  const content = ['Hi', situation].map((text) => ({ type: 'text' as const, text }))
  t.match(readPrompt([{ role: 'user', content }]), { message: 'Hi', situation })
  t.strictSame(readPrompt([]), { earlier: [], message: '', outcomes: [], instructions: '', situation: '' })
})
