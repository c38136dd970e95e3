import { useEffect, useMemo, useState } from 'preact/hooks'
import { hrefOf } from '../../app/router.ts'
import { Icon, memo, Status } from '../../components/elements.tsx'
import { Content } from '../../components/items/content.tsx'
import { Items } from '../../components/items/items.tsx'
import { formatCount, formatDuration } from '../../components/time.tsx'
import type { Conversation } from '../../models/conversation.ts'
import { draftOf, type Draft } from '../../models/draft.ts'
import { isScreenshot } from '../../models/film.ts'
import type { RunItem } from '../../models/run-items.ts'
import type { RunModel } from '../../models/run-model.ts'
import { toItems, type SavedTurn } from '../../models/saved-turns.ts'

/** What a visitor may do with a turn: change its message, or send it again; a branch of the session begins. */
export interface Again {
  edit(runId: string): void
  repeat(runId: string): void
}

interface AgainProp {
  readonly again: Again | undefined
}

/** A turn as the session keeps it. */
export const Saved = memo(function Saved({
  turn: { runId, messages },
  again
}: { turn: SavedTurn } & AgainProp) {
  // A message of the user begins a group: there may be several in a turn.
  const groups: { asked: unknown; items: RunItem[] }[] = []
  for (const item of toItems(messages)) {
    if (item.kind === 'asked') groups.push({ asked: item.content, items: [] })
    else if (groups.length === 0) groups.push({ asked: undefined, items: [item] })
    else groups.at(-1)!.items.push(item)
  }
  return (
    <article class="turn" data-run={runId}>
      {groups.map(({ asked, items }) => (
        <>
          {asked !== undefined && <Asked content={asked} runId={runId} />}
          <div class="answer">
            <Items items={items} runId={runId} isOver />
          </div>
        </>
      ))}
      <Foot runId={runId} again={again} />
    </article>
  )
})

/** A run as it comes. */
export function Live({ run, again }: { run: RunModel } & AgainProp) {
  // Read so that the turn is drawn again when the run has changed.
  void run.version.value
  const { runId, start, asked, items, status, isOver, usage, startedAt, endedAt, queuePosition } = run
  const content = run.isCall ? undefined : (asked?.input ?? start?.input)
  return (
    <article class="turn" data-run={runId} data-status={status} aria-busy={!isOver}>
      {content !== undefined && <Asked content={content} files={asked?.files} runId={runId} />}
      <div class="answer">
        <Items items={items} runId={runId} isOver={isOver} />
        {status === 'working' && <p class="working" role="img" aria-label="Working" />}
        {status === 'submitted' && (
          <p class="hint">
            {queuePosition === undefined ? 'Waits for its turn.' : `Waits for ${queuePosition} before it.`}
          </p>
        )}
      </div>
      <Foot runId={runId} again={isOver && !run.isCall ? again : undefined}>
        {status !== 'completed' && <Status status={status} />}
        {usage !== undefined && <span>{formatCount(usage.totalTokens)} tokens</span>}
        {startedAt !== undefined && endedAt !== undefined && (
          <span>{formatDuration(endedAt - startedAt)}</span>
        )}
        {items.some(isScreenshot) && <a href={hrefOf(['browser', runId])}>screenshots</a>}
      </Foot>
    </article>
  )
}

/** What the visitor, or another client, has said. */
export function Asked({
  content,
  runId,
  files
}: {
  content: unknown
  runId?: string
  files?: readonly File[] | undefined
}) {
  return (
    <div class="asked-bubble">
      <h2 class="visually-hidden">You</h2>
      <Content content={content} runId={runId} files={files} />
    </div>
  )
}

function Foot({
  runId,
  again,
  children
}: AgainProp & { runId: string; children?: preact.ComponentChildren }) {
  return (
    <div class="turn-foot">
      {children}
      {again !== undefined && (
        <>
          <button type="button" onClick={() => again.edit(runId)}>
            <Icon name="edit" /> edit
          </button>
          <button type="button" onClick={() => again.repeat(runId)}>
            <Icon name="again" /> regenerate
          </button>
        </>
      )}
      <a href={hrefOf(['run', runId])} aria-label="Open the run">
        run <Icon name="right" />
      </a>
    </div>
  )
}

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
