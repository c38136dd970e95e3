import type { MemoryItem, RunContext } from '@svc/registry'
import { KeyedLock } from '@svc/contract/stores'

const NAMESPACE = 'notes'
/** Namespace of an item that holds the last number given, so that it outlives every single note. */
const NUMBERS = 'notes.numbers'
const LAST = 'last'
/** Notes per owner. */
const MAX_NOTES = 200
/** Characters of a note. */
export const MAX_NOTE = 2_000

const numbering = new KeyedLock()

/** The notes of the owner of a run's session, in the app's memory store. */
export function notesOf({ stores: { memory }, sessionOwner: owner, signal }: RunContext) {
  const list = async (): Promise<MemoryItem[]> =>
    (await memory.list(owner, NAMESPACE, MAX_NOTES)).toReversed()
  const put = async (namespace: string, id: string, text: string): Promise<void> =>
    memory.put({ id, owner, namespace, text, createdAt: Date.now() })
  return {
    /** The oldest first. */
    list,
    /** One more than the highest number ever given, even to a deleted note. @throws an Error at the limit */
    async nextId(): Promise<string> {
      const release = await numbering.lock(owner, signal)
      try {
        const all = await list()
        if (all.length >= MAX_NOTES) throw new Error(`there are ${MAX_NOTES} notes already`)
        const given = (await memory.list(owner, NUMBERS, 1)).map(({ text }) => Number(text))
        const id = String(Math.max(0, ...given, ...all.map((note) => Number(note.id))) + 1)
        await put(NUMBERS, LAST, id)
        return id
      } finally {
        release()
      }
    },
    add: (id: string, text: string): Promise<void> => put(NAMESPACE, id, text),
    remove: async (id: string): Promise<boolean> => memory.remove(owner, NAMESPACE, id)
  }
}
