import { useEffect, useState } from 'preact/hooks'
import { describeError } from '../../api/client.ts'
import { getSession, type SessionDetail, type SessionRef } from '../../api/resources.ts'
import { hrefOf } from '../../app/router.ts'
import { cleanLine } from '../../components/clean-text.ts'
import { toTurns, type SavedTurn } from '../../models/saved-turns.ts'

/** The turns of a branch, oldest first; where the session divides, the other branches. */
export function Turns({
  session,
  sessionRef,
  branch,
  onFork
}: {
  session: SessionDetail
  sessionRef: SessionRef
  branch: string | undefined
  onFork: (runId: string) => void
}) {
  const { turns, cursor, error, loadOlder } = useOlder(session, sessionRef, branch)
  const shown = new Set(turns.map(({ runId }) => runId))
  return (
    <section aria-labelledby="turns" class="stack">
      <h2 id="turns">Turns</h2>
      {cursor !== null && (
        <div>
          <button type="button" class="button quiet" onClick={loadOlder}>
            Older turns
          </button>
        </div>
      )}
      {error !== undefined && <p class="notice bad">{describeError(error)}</p>}
      {turns.length === 0 && <p class="hint">No turn was saved.</p>}
      <ol class="turns">
        {turns.map((turn, at) => {
          const before = turns[at - 1]?.runId ?? null
          const division = session.branches.find(
            ({ after, turns: next }) => after === before && next.includes(turn.runId)
          )
          return (
            <li key={turn.runId}>
              {division !== undefined && (
                <Branches sessionRef={sessionRef} shown={shown} turns={division.turns} />
              )}
              <Turn turn={turn} onFork={onFork} />
            </li>
          )
        })}
      </ol>
    </section>
  )
}

function Turn({ turn: { runId, messages }, onFork }: { turn: SavedTurn; onFork: (runId: string) => void }) {
  const asked = messages.find(({ role }) => role === 'user')
  const answer = messages.findLast(({ role }) => role === 'assistant')
  const tools = messages.filter(({ role }) => role === 'tool').length
  return (
    <div class="turn-line">
      <p class="ellipsis">
        <bdi>{asked?.role === 'user' ? cleanLine(textOf(asked.content), 160) : '…'}</bdi>
      </p>
      <p class="hint ellipsis">
        <bdi>{answer?.role === 'assistant' ? cleanLine(answer.text, 160) || 'no text' : 'no answer'}</bdi>
        {tools > 0 && ` · ${tools === 1 ? '1 call' : `${tools} calls`}`}
      </p>
      <div class="row">
        <a class="button quiet" href={hrefOf(['run', runId])}>
          Run
        </a>
        <button type="button" class="button quiet" onClick={() => onFork(runId)}>
          Fork here
        </button>
      </div>
    </div>
  )
}

function Branches({
  turns,
  shown,
  sessionRef: { kind, name, sessionId }
}: {
  turns: readonly string[]
  shown: ReadonlySet<string>
  sessionRef: SessionRef
}) {
  return (
    <nav class="branches" aria-label="Branches">
      {turns.map((runId, at) => (
        <a
          key={runId}
          class="chip"
          href={hrefOf(['sessions', kind, name, sessionId], { branch: runId })}
          aria-current={shown.has(runId) ? 'true' : undefined}
        >
          branch {at + 1}
        </a>
      ))}
    </nav>
  )
}

/** The turns of the page that was read, with those of older pages once they are wanted. */
function useOlder(session: SessionDetail, ref: SessionRef, branch: string | undefined) {
  const [state, setState] = useState(() => begin(session))
  useEffect(() => setState(begin(session)), [session])
  const loadOlder = () => {
    const { cursor } = state
    if (cursor === null) return
    getSession(ref, { before: cursor, limit: 100, ...(branch !== undefined && { branch }) }).then(
      ({ messages, nextCursor }) =>
        setState((old) => ({
          messages: [...messages, ...old.messages],
          cursor: nextCursor,
          error: undefined
        })),
      (error: unknown) => setState((old) => ({ ...old, error }))
    )
  }
  return { ...state, turns: toTurns(state.messages), loadOlder }
}

const begin = ({ messages, nextCursor }: SessionDetail) => ({
  messages,
  cursor: nextCursor,
  error: undefined as unknown
})

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return JSON.stringify(content) ?? ''
  return content
    .map(
      (part: { type?: string; text?: string; filename?: string }) =>
        part.text ?? part.filename ?? part.type ?? ''
    )
    .join(' ')
}
