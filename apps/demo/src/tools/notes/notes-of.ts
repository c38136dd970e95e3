import type { MemoryItem, RunContext } from '@svc/registry'

const NAMESPACE = 'notes'
/** Notes that one owner may have. */
const MAX_NOTES = 200
/** Characters of a note. */
export const MAX_NOTE = 2_000

/** The notes of whoever owns the session of a run, in the app's memory store. */
export function notesOf({ stores: { memory }, sessionOwner: owner }: RunContext) {
  const list = async (): Promise<MemoryItem[]> =>
    (await memory.list(owner, NAMESPACE, MAX_NOTES)).toReversed()
  return {
    /** The oldest first. */
    list,
    /** One more than the highest so far. @throws an Error when there are too many */
    async nextId(): Promise<string> {
      const all = await list()
      if (all.length >= MAX_NOTES) throw new Error(`there are ${MAX_NOTES} notes already`)
      return String(Math.max(0, ...all.map(({ id }) => Number(id))) + 1)
    },
    add: async (id: string, text: string): Promise<void> =>
      memory.put({ id, owner, namespace: NAMESPACE, text, createdAt: Date.now() }),
    remove: async (id: string): Promise<boolean> => memory.remove(owner, NAMESPACE, id)
  }
}
