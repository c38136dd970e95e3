import { useState } from 'preact/hooks'
import {
  deleteSession,
  forkSession,
  getSession,
  updateSession,
  type SessionRef
} from '../../api/resources.ts'
import { announce } from '../../app/announcer.tsx'
import { goTo, hrefOf } from '../../app/router.ts'
import { cleanLine } from '../../components/clean-text.ts'
import { Icon } from '../../components/elements.tsx'
import { ErrorNotice } from '../../components/notice.tsx'
import { Ago } from '../../components/time.tsx'
import { useLoad } from '../../components/hooks.ts'
import { Turns } from './turns.tsx'

/** Turns of a page. */
const LIMIT = 100

/** One session: its turns as a tree, and what its owner may do with it. */
export function SessionDetail({
  sessionRef,
  branch
}: {
  sessionRef: SessionRef
  branch: string | undefined
}) {
  const { kind, name, sessionId } = sessionRef
  const session = useLoad(
    (signal) => getSession(sessionRef, { limit: LIMIT, ...(branch !== undefined && { branch }) }, { signal }),
    [kind, name, sessionId, branch]
  )
  const [error, setError] = useState<unknown>()
  const { value } = session
  const act = async (action: () => Promise<void>) => {
    setError(undefined)
    await action().catch(setError)
  }
  const fork = (runId?: string) =>
    act(async () => {
      const { sessionId: forked } = await forkSession(sessionRef, runId)
      announce('Forked')
      goTo(hrefOf(['sessions', kind, name, forked]))
    })
  return (
    <div class="session">
      <header class="view-head">
        <a class="button quiet icon" href={hrefOf(['sessions'])} aria-label="All sessions">
          <Icon name="back" />
        </a>
        <h1 class="ellipsis">{cleanLine(value?.title ?? sessionId, 140)}</h1>
        <div class="row end">
          <button type="button" class="button" disabled={value === undefined} onClick={() => void fork()}>
            Fork
          </button>
          <a class="button primary" href={hrefOf(['talk', kind, name, sessionId])}>
            <Icon name="talk" /> Continue
          </a>
        </div>
      </header>
      <div class="view-body stack">
        {session.error !== undefined && <ErrorNotice error={session.error} onRetry={session.reload} />}
        {error !== undefined && <ErrorNotice error={error} />}
        {value !== undefined && (
          <>
            <p class="hint">
              {kind} {cleanLine(name, 100)} · {value.turns === 1 ? '1 turn' : `${value.turns} turns`} ·
              changed <Ago at={value.updatedAt} />
            </p>
            <Turns
              session={value}
              sessionRef={sessionRef}
              branch={branch}
              onFork={(runId) => void fork(runId)}
            />
            <Rename
              key={value.title}
              title={value.title}
              onRename={(title) =>
                act(async () => {
                  await updateSession(sessionRef, { title })
                  announce('Renamed')
                  session.reload()
                })
              }
            />
            <Removal
              onRemove={(forks) =>
                act(async () => {
                  await deleteSession(sessionRef, forks)
                  announce('Deleted')
                  goTo(hrefOf(['sessions']), { replace: true })
                })
              }
            />
          </>
        )}
      </div>
    </div>
  )
}

function Rename({
  title = '',
  onRename
}: {
  title: string | undefined
  onRename: (title: string | null) => Promise<void>
}) {
  const [text, setText] = useState(title)
  const submit = (event: Event) => {
    event.preventDefault()
    void onRename(text.trim() === '' ? null : text.trim())
  }
  return (
    <form class="card row" onSubmit={submit}>
      <div class="field grow">
        <label for="session-title">Title</label>
        <input
          class="input"
          id="session-title"
          maxLength={200}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </div>
      <button type="submit" class="button" disabled={text.trim() === title}>
        Rename
      </button>
    </form>
  )
}

// The second press is the confirmation; leaving the button takes the first one back.
function Removal({ onRemove }: { onRemove: (forks: boolean) => Promise<void> }) {
  const [isSure, setSure] = useState(false)
  const [forks, setForks] = useState(false)
  const press = () => {
    if (isSure) void onRemove(forks)
    else announce('Press again to delete the session')
    setSure(true)
  }
  return (
    <section class="card row" aria-label="Deletion">
      <p class="grow">
        Deletes the session with its messages, runs, logs and files.
        <label class="row hint">
          <input
            type="checkbox"
            checked={forks}
            onChange={({ currentTarget }) => setForks(currentTarget.checked)}
          />
          its forks too
        </label>
      </p>
      <button type="button" class="button danger" onClick={press} onBlur={() => setSure(false)}>
        {isSure ? 'Delete it for good' : 'Delete'}
      </button>
    </section>
  )
}
