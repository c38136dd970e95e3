import { Chat } from '@ai-sdk/vue'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import { DefaultChatTransport } from 'ai'
import t from 'tap'
import { chatApp } from '../helpers/chat-app.ts'
import { textOf } from '../helpers/test-chat.ts'

type Transport = NonNullable<ConstructorParameters<typeof Chat>[0]['transport']>

t.test('the chat of Vue', async (t) => {
  const model = scriptedModel(['Hello', 'Again'])
  const { api } = await chatApp(t, { add: (registry) => new Agent({ name: 'support', model, registry }) })
  // It depends on another version of `ai`, whose types differ.
  const transport = new DefaultChatTransport({ api: api('support') }) as unknown as Transport
  const chat = new Chat({ transport })
  await chat.sendMessage({ text: 'Hi' })
  await chat.regenerate()
  t.equal(chat.status, 'ready')
  t.same(chat.messages.map(textOf), ['Hi', 'Again'])
})
