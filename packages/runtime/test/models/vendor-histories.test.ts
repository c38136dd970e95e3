import type { SessionMessage } from '@svc/registry'
import { Agent } from '@svc/runtime'
import t from 'tap'
import { startVendor, VENDORS } from '../helpers/vendors/vendors.ts'

// What callers keep goes through the vendor's own package.

const user = (content: string): SessionMessage => ({ role: 'user', content })
const toolName = 'locate'
const call = (toolCallId: string, args: unknown): SessionMessage => ({
  role: 'assistant',
  text: '',
  toolCalls: [{ toolCallId, toolName, args }]
})
const result = (toolCallId: string, given: unknown): SessionMessage => ({
  role: 'tool',
  toolCallId,
  toolName,
  result: given
})

for (const [name, vendor] of Object.entries(VENDORS))
  t.test(name, async (t) => {
    const { origin, bodies, refused } = await startVendor(t, vendor, [])
    const agent = new Agent({
      name: 'a',
      model: vendor.model(origin),
      register: false,
      retry: { attempts: 1 }
    })
    const messages = [
      user('Where am I?'),
      call('call00001', '{"exact": tr'),
      result('call00001', 'Invalid arguments'),
      call('call00002', ['no object']),
      result('call00002', null),
      call('call00003', undefined),
      result('call00003', { city: 'Oslo' })
    ]
    t.match(await agent.run('And now?', { messages: [...messages, { role: 'assistant', text: 'Oslo' }] }), {
      text: 'Done.'
    })
    t.match(await agent.run(undefined, { messages }), { text: 'Done.' }, 'results at the end')
    const begun = [...messages, { role: 'assistant' as const, text: 'You are in' }]
    t.match(await agent.run(undefined, { messages: begun }), { text: 'Done.' }, 'the beginning of an answer')
    t.strictSame(refused, [])
    t.equal(bodies.length, 3)
    const odd = { type: 'file' as const, mimeType: 'application/x-own', data: 'AAEC' }
    const error = await agent.run([odd]).catch((err: unknown) => err)
    // Some send what they are given.
    if (bodies.length > 3) t.match(error, { text: 'Done.' })
    else t.match(error, { code: 'RUN_ERR_BAD_INPUT', statusCode: 400, message: /the model takes no file/ })
  })
