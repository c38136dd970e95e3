import { ManagedAgentsAgent } from '@ag-ui/claude-managed-agents'
import type { Message, Tool } from '@ag-ui/client'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import { callsOf, send } from '@tools/wires/agents'
import t from 'tap'
import { sessionsApp } from '../helpers/sessions-app.ts'

const locate: Tool = {
  name: 'locate',
  description: 'Where the user is',
  parameters: { type: 'object', properties: {} }
}

t.test(
  'the AG-UI adapter for Managed Agents: texts, reasoning, tools, approvals, and tools of the page',
  async (t) => {
    const { client } = await sessionsApp(t, {
      add: (registry) =>
        new Agent({
          name: 'mailer',
          model: scriptedModel([
            { reasoning: 'Hm', text: ['Good ', 'day'] },
            callsOf(['send', { to: 'ann' }]),
            'It is sent',
            { text: 'Let me see', ...callsOf(['locate', {}]) },
            'You are in Oslo',
            'Bye'
          ]),
          registry,
          tools: [send]
        })
    })
    const agent = new ManagedAgentsAgent({
      client,
      managedAgentId: 'mailer',
      environmentId: 'env_service',
      toolConfirmation: 'allow',
      threadId: 'thread'
    })
    const ask = async (message: Message, tools: Tool[] = []) => {
      agent.addMessage(message)
      const types: string[] = []
      const { newMessages } = await agent.runAgent(
        { tools },
        { onEvent: ({ event }) => void types.push(event.type) }
      )
      return { newMessages, types }
    }
    const say = (content: string, tools?: Tool[]) =>
      ask({ id: crypto.randomUUID(), role: 'user', content }, tools)
    const hello = await say('Hello')
    t.match(hello.newMessages.at(-1), { role: 'assistant', content: 'Good day' })
    t.ok(hello.types.includes('REASONING_START'))
    t.ok(hello.types.includes('TEXT_MESSAGE_CONTENT'))

    const sent = await say('Send it')
    t.match(
      sent.newMessages.map(({ role }) => role),
      ['assistant', 'tool', 'assistant']
    )
    t.match(sent.newMessages.at(-1), { content: 'It is sent' })

    const asked = await say('Where am I?', [locate])
    t.same(asked.types.at(-1), 'RUN_FINISHED')
    const calls = asked.newMessages.flatMap((each) => ('toolCalls' in each ? (each.toolCalls ?? []) : []))
    t.match(calls, [{ function: { name: 'locate' } }])
    const found = await ask({ id: 'answer', role: 'tool', toolCallId: calls[0]!.id, content: 'Oslo' }, [
      locate
    ])
    t.match(found.newMessages, [{ role: 'assistant', content: 'You are in Oslo' }], 'and nothing again')
    t.match((await say('Thanks', [locate])).newMessages, [{ content: 'Bye' }])
    const sessions = await client.beta.sessions.list()
    t.match(sessions.data, [{ title: 'AG-UI thread thread' }], 'a thread is a session')
  }
)
