import type { MemoryItem } from '@svc/registry'
import type { ToolContext } from '@svc/runtime'

const NAMESPACE = 'notes'
/** Notes that one owner may have. */
export const MAX_NOTES = 200

/** The notes of whoever owns the session of a run, in the app's memory store. */
export function notesOf({ context }: ToolContext) {
  const { memory } = context.stores
  const owner = context.sessionOwner
  return {
    /** The oldest first. */
    list: async (): Promise<MemoryItem[]> => (await memory.list(owner, NAMESPACE, MAX_NOTES)).toReversed(),
    add: async (id: string, text: string): Promise<void> =>
      memory.put({ id, owner, namespace: NAMESPACE, text, createdAt: Date.now() }),
    remove: async (id: string): Promise<boolean> => memory.remove(owner, NAMESPACE, id)
  }
}
