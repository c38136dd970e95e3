import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Conversation } from '../../models/conversation.ts'
import { draftOf, type Draft } from '../../models/draft.ts'

/** An earlier message that is changed. */
interface Edit {
  readonly runId: string
  readonly draft: Draft
  /** The turn that the changed message follows; null at the beginning, undefined after everything. */
  readonly after: string | null | undefined
}

/** Changes earlier messages of a conversation, and repeats them. */
export function useEdit(conversation: Conversation) {
  const [current, setCurrent] = useState<Edit>()
  const [error, setError] = useState<unknown>()
  const abort = useMemo(() => new AbortController(), [conversation])
  const end = () => setCurrent(undefined)
  useEffect(() => {
    end()
    setError(undefined)
    return () => abort.abort()
  }, [conversation])

  const read = (runId: string, then: (edit: Edit) => void) => {
    setError(undefined)
    const live = conversation.runs.value.find((run) => run.runId === runId)
    const after = conversation.turnBefore(runId)
    draftOf(runId, live, abort.signal).then(
      (draft) => {
        if (!abort.signal.aborted) then({ runId, draft, after })
      },
      (err: unknown) => {
        if (!abort.signal.aborted) setError(err)
      }
    )
  }
  return {
    current,
    error,
    end,
    begin: (runId: string) => read(runId, setCurrent),
    repeat: (runId: string, send: (draft: Draft, after: Edit['after']) => void) =>
      read(runId, ({ draft, after }) => send(draft, after))
  }
}
