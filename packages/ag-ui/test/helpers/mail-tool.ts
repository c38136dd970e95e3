import { Type } from '@sinclair/typebox'
import { defineTool } from '@svc/runtime'

/** A tool that sends a mail once it is approved. */
export const send = defineTool({
  name: 'send',
  description: 'Sends a mail',
  input: Type.Object({ to: Type.String() }),
  approval: true,
  execute: ({ to }) => `sent to ${to}`
})
