import type { Session } from '@svc/contract'
import { useCallback, useMemo, useState } from 'preact/hooks'
import { hrefOf, type Route } from '../../app/router.ts'
import { cleanLine } from '../../components/clean-text.ts'
import { Empty, ErrorNotice } from '../../components/notice.tsx'
import { Ago } from '../../components/time.tsx'
import { usePoll } from '../../components/hooks.ts'
import { WindowedList } from '../../components/windowed-list.tsx'
import { SessionList } from '../../models/session-list.ts'
import { isKind } from '../../models/kinds.ts'
import { SessionDetail } from './session.tsx'
import './sessions.css'

/** Milliseconds between looks at the sessions that were changed last. */
const POLL = 5_000
const ROW = 60

/** `#/sessions`: the visitor's sessions; `#/sessions/kind/name/session`: one of them. */
export function Sessions({ route }: { route: Route }) {
  const [, kind, name, sessionId] = route.path
  if (name === undefined || sessionId === undefined || !isKind(kind)) return <List />
  return (
    <SessionDetail key={sessionId} sessionRef={{ kind, name, sessionId }} branch={route.query['branch']} />
  )
}

function List() {
  const list = useMemo(() => new SessionList(), [])
  usePoll((signal) => list.refresh(signal), POLL, [list])
  const [search, setSearch] = useState('')
  const found = list.sessions.value.filter((session) => fits(session, search))
  const loadMore = useCallback(() => void list.loadMore(), [list])
  return (
    <div class="sessions">
      <header class="view-head">
        <h1>Sessions</h1>
        <span class="hint" role="status">
          {list.isLoaded.value && `${found.length}${list.hasMore.value ? '+' : ''}`}
        </span>
        <input
          class="input end"
          type="search"
          aria-label="Search titles, names and ids"
          placeholder="Search"
          value={search}
          onInput={({ currentTarget }) => setSearch(currentTarget.value)}
        />
      </header>
      {list.error.value !== undefined && (
        <div class="view-body grow-0">
          <ErrorNotice error={list.error.value} />
        </div>
      )}
      {found.length === 0 && list.isLoaded.value && !list.hasMore.value ? (
        list.error.value === undefined && (
          <Empty icon="sessions" title="No sessions">
            <p>{search === '' ? 'Conversations show up here.' : 'No session matches this.'}</p>
          </Empty>
        )
      ) : (
        <WindowedList
          label="Sessions, last changed first"
          count={found.length}
          rowHeight={ROW}
          keyOf={(at) => keyOf(found[at]!)}
          row={(at) => <Row session={found[at]!} />}
          onEnd={loadMore}
        />
      )}
    </div>
  )
}

function Row({ session }: { session: Session }) {
  const { kind, name, sessionId, title, turns, updatedAt, activeRun } = session
  return (
    <a class="session-row" href={hrefOf(['sessions', kind, name, sessionId])}>
      <span class="session-what">
        <strong class="ellipsis">
          <bdi>{cleanLine(title ?? sessionId, 140)}</bdi>
        </strong>
        <span class="hint ellipsis">
          {kind} {cleanLine(name, 80)}
        </span>
      </span>
      {activeRun !== undefined && (
        <span class="status" data-status="working">
          Active
        </span>
      )}
      <span class="session-when hint">
        <Ago at={updatedAt} />
        <span>{turns === 1 ? '1 turn' : `${turns} turns`}</span>
      </span>
    </a>
  )
}

const keyOf = ({ kind, name, sessionId }: Session) => JSON.stringify([kind, name, sessionId])

function fits({ title = '', name, sessionId, metadata = {} }: Session, search: string): boolean {
  const wanted = search.trim().toLowerCase()
  if (wanted === '') return true
  return [title, name, sessionId, ...Object.values(metadata)].some((text) =>
    text.toLowerCase().includes(wanted)
  )
}
