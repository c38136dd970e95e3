import { once } from 'node:events'
import { Type } from '@sinclair/typebox'
import { defineRunnable, type Principal, type RunInput } from '@svc/registry'
import { defineTool } from '@svc/runtime'

/** A tool that sends a mail once it is approved. */
export const send = defineTool({
  name: 'send',
  description: 'Sends a mail',
  input: Type.Object({ to: Type.String() }),
  approval: true,
  execute: ({ to }) => `sent to ${to}`
})

/** Calls of tools in a script, with ids `call-1` and so on. */
export function callsOf(...calls: readonly [string, object][]) {
  return {
    toolCalls: calls.map(([toolName, args], at) => ({ toolName, args, toolCallId: `call-${at + 1}` }))
  }
}

/** An agent that says one word, and the other once it may. */
export function pausing() {
  const { promise: may, resolve: go } = Promise.withResolvers<void>()
  const agent = defineRunnable({
    kind: 'agent',
    name: 'pausing',
    async *stream(_input, { signal }) {
      yield { type: 'text', text: 'one' }
      await Promise.race([may, once(signal, 'abort')])
      signal.throwIfAborted()
      yield { type: 'text', text: ' two' }
    }
  })
  return { agent, go }
}

/** An image of one pixel, in base64. */
export const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** An agent `eyes` that keeps what it is given. */
export function seeing() {
  const inputs: RunInput[] = []
  const agent = defineRunnable({
    kind: 'agent',
    name: 'eyes',
    run: async (input) => {
      inputs.push(input)
      return 'seen'
    }
  })
  return { agent, inputs }
}

/** An agent that makes one file, `dot.png`. */
export const painter = defineRunnable({
  kind: 'agent',
  name: 'painter',
  async *stream(_, { runId, stores }) {
    const content = Buffer.from(PNG, 'base64')
    const { fileId, mimeType, size, sha256 } = await stores.files!.put(runId, {
      mimeType: 'image/png',
      content
    })
    yield { type: 'file', fileId, mimeType, size, sha256, filename: 'dot.png' }
  }
})

/** Anyone whose token is a name, also in a cookie. */
export const authenticate = Object.assign(
  ({
    cookies,
    token = cookies['token']
  }: {
    token?: string
    cookies: Readonly<Record<string, string>>
  }): Principal | null => {
    if (token === undefined) return null
    if (token === 'bad') throw new Error('unknown')
    return { sub: token, scopes: [] }
  },
  { schemes: { bearer: { type: 'http', scheme: 'bearer' } } }
)
