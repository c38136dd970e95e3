import { setTimeout as wait } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import { defineTool, type Tool, type ToolContext } from '@svc/runtime'
import type { Ledger } from './ledger.ts'
import { numberOf, outcomeOf, TOOLS, type ToolName } from './plan.ts'

const input = Type.Object({ key: Type.String(), by: Type.Optional(Type.Integer()) })
type Args = typeof input.static

/** The tools of `plan.ts`, and `settle`, which does what an interrupted call has left. Each call is written down. */
export function plannedTools(ledger: Ledger, pace: number): Tool[] {
  const work = async (key: string) => {
    await wait(pace * (numberOf(key) % 8))
  }
  const define = (
    name: ToolName,
    idempotent: boolean,
    execute: (args: Args, context: ToolContext) => Promise<string>,
    approval = false
  ) =>
    defineTool({
      name,
      description: name,
      input,
      approval,
      idempotent,
      async execute(args, context) {
        ledger.write('tool', context.toolCallId, context.idempotencyKey)
        await work(context.toolCallId)
        return execute(args, context)
      }
    })

  const act = async (key: string) => {
    if (!ledger.has('effect', key)) ledger.write('effect', key)
    await work(key)
  }
  const read = define('read', true, async (_, { toolCallId }) => outcomeOf('read', toolCallId))
  const book = define('book', false, async (_, { toolCallId }) => {
    await act(toolCallId)
    return outcomeOf('book', toolCallId)
  })
  return [
    read,
    book,
    define('fail', true, async ({ key }) => {
      throw new Error(outcomeOf('fail', key))
    }),
    define('nest', false, async ({ key }, { callTool }) => {
      const first = await callTool(read, { key })
      return `${String(first)} ${String(await callTool(book, { key }))}`
    }),
    define('send', true, send, true),
    define('send_once', false, send, true),
    define('ask', true, askWhich),
    define('ask_once', false, askWhich),
    defineTool({
      name: 'settle',
      description: 'Finds out what an interrupted call did, and does the rest',
      input: Type.Object({ key: Type.String(), tool: Type.String() }),
      idempotent: true,
      async execute({ key, tool }) {
        if (tool === 'book') await act(key)
        if (tool === 'nest') await act(`${key}.2`)
        return outcomeOf(
          TOOLS.find((name) => name === tool)!,
          key
        )
      }
    })
  ]
}

async function send({ key, by }: Args): Promise<string> {
  return `sent ${numberOf(key)} by ${by}`
}

async function askWhich({ key }: Args, { ask }: ToolContext): Promise<string> {
  const { action, content } = await ask({
    message: `Which one for ${key}?`,
    schema: Type.Object({ choice: Type.Integer() })
  })
  return `asked ${numberOf(key)}: ${action === 'accept' ? content!.choice : 'declined'}`
}
