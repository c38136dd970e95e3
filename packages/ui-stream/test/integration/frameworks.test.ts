import { Chat } from '@ai-sdk/vue'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import { DefaultChatTransport } from 'ai'
import * as oldest from 'ai-of-svelte'
import t from 'tap'
import { chatApp } from '../helpers/chat-app.ts'
import { PlainState, textOf } from '../helpers/test-chat.ts'

type Transport = NonNullable<ConstructorParameters<typeof Chat>[0]['transport']>

/** The chat of the version of `ai` on which that of Svelte builds. */
class SvelteChat extends oldest.AbstractChat<oldest.UIMessage> {
  constructor(api: string) {
    const transport = new oldest.DefaultChatTransport({ api })
    super({ transport, state: new PlainState([]) as unknown as oldest.ChatState<oldest.UIMessage> })
  }
}

t.test('the chats of Vue and Svelte, which build on other versions of `ai`', async (t) => {
  const chats = {
    Vue: (api: string) => new Chat({ transport: new DefaultChatTransport({ api }) as unknown as Transport }),
    Svelte: (api: string) => new SvelteChat(api)
  }
  for (const [name, create] of Object.entries(chats)) {
    const model = scriptedModel(['Hello', 'Again'])
    const { api } = await chatApp(t, { add: (registry) => new Agent({ name: 'support', model, registry }) })
    const chat = create(api('support'))
    await chat.sendMessage({ text: 'Hi' })
    await chat.regenerate()
    t.equal(chat.status, 'ready', name)
    t.same(
      chat.messages.map((message) => textOf(message as Parameters<typeof textOf>[0])),
      ['Hi', 'Again'],
      name
    )
  }
})
