import { CopilotKitContext, CopilotKitCoreReact, EMPTY_SET } from '@copilotkit/react-core/v2/context'
import { useAgent, useCopilotKit, useFrontendTool, useInterrupt } from '@copilotkit/react-core/v2/headless'
import { useState } from 'react'
import { createRoot } from 'react-dom/client'
import { z } from 'zod'

const core = new CopilotKitCoreReact({ runtimeUrl: '/api/copilotkit' })

function Chat() {
  const { copilotkit } = useCopilotKit()
  const { agent } = useAgent({ agentId: 'default' })
  const [input, setInput] = useState('')

  useFrontendTool({
    name: 'shopping_list',
    description: 'Reads my shopping list',
    parameters: z.object({}),
    handler: async () => 'oat milk'
  })
  const question = useInterrupt({
    agentId: 'default',
    renderInChat: false,
    render: ({ interrupt, resolve, cancel }) => (
      <div className="interrupt">
        {interrupt?.message}
        <button onClick={() => resolve({ approved: true })}>Yes</button>
        <button onClick={() => cancel()}>No</button>
      </div>
    )
  })

  return (
    <main data-running={agent.isRunning}>
      {agent.messages.map((message) => (
        <section key={message.id} className={message.role}>
          {typeof message.content === 'string' && <p>{message.content}</p>}
        </section>
      ))}
      {question}
      <form
        onSubmit={(event) => {
          event.preventDefault()
          agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: input })
          setInput('')
          void copilotkit.runAgent({ agent })
        }}
      >
        <input value={input} onChange={(event) => setInput(event.target.value)} />
      </form>
    </main>
  )
}

createRoot(document.querySelector('#root')).render(
  <CopilotKitContext.Provider value={{ copilotkit: core, executingToolCallIds: EMPTY_SET }}>
    <Chat />
  </CopilotKitContext.Provider>
)
