import { randomUUID } from 'node:crypto'
import type { RunContext } from '@svc/registry'

/** Whether a process before this one has begun what the key names, and told of it: that is void then. */
export async function isAgain(context: RunContext, key: string): Promise<boolean> {
  const self = randomUUID()
  return (await context.step(key, () => self)) !== self
}
