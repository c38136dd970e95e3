import './runs.css'
import type { RunStatus } from '@svc/contract'
import { useCallback, useMemo, useState } from 'preact/hooks'
import type { RunFilter, RunItem } from '../../api/resources.ts'
import { goTo, hrefOf, type Route } from '../../app/router.ts'
import { cleanLine } from '../../components/clean-text.ts'
import { Status, STATUS_LABELS } from '../../components/elements.tsx'
import { usePoll } from '../../components/hooks.ts'
import { Empty, ErrorNotice } from '../../components/notice.tsx'
import { Ago, formatCount, formatDuration, now } from '../../components/time.tsx'
import { WindowedList } from '../../components/windowed-list.tsx'
import { RunList } from '../../models/run-list.ts'

/** Selects runs; what is selected is in the address, so that it can be shared and comes back. */
function RunFilters({ query }: { query: Route['query'] }) {
  const [name, setName] = useState(query['name'] ?? '')
  const [metadata, setMetadata] = useState(query['metadata'] ?? '')
  const apply = (change: Record<string, string>) =>
    goTo(hrefOf(['runs'], { ...query, ...change }), { replace: true })
  const submit = (event: Event) => {
    event.preventDefault()
    apply({ name: name.trim(), metadata: metadata.trim() })
  }
  return (
    <form class="run-filters end" role="search" onSubmit={submit}>
      <select
        class="input"
        aria-label="State"
        value={query['status'] ?? ''}
        onChange={({ currentTarget }) => apply({ status: currentTarget.value })}
      >
        <option value="">All states</option>
        {Object.entries(STATUS_LABELS).map(([status, label]) => (
          <option value={status}>{label}</option>
        ))}
      </select>
      <input
        class="input"
        type="search"
        aria-label="Name"
        placeholder="Name"
        maxLength={128}
        value={name}
        onInput={({ currentTarget }) => setName(currentTarget.value)}
        onBlur={submit}
      />
      <input
        class="input"
        type="search"
        aria-label="Metadata, as key=value"
        placeholder="key=value"
        pattern="[^=]+=.*"
        title="key=value"
        value={metadata}
        onInput={({ currentTarget }) => setMetadata(currentTarget.value)}
        onBlur={submit}
      />
      <button type="submit" class="visually-hidden">
        Filter
      </button>
    </form>
  )
}

/** Milliseconds between looks at the newest runs. */
const POLL = 2_000
const ROW = 60

/** `#/runs?status=…&name=…&metadata=key=value`: the visitor's runs, live. */
export function Runs({ route }: { route: Route }) {
  const { status, name, metadata } = route.query
  const list = useMemo(() => new RunList(toFilter(route.query)), [status, name, metadata])
  usePoll((signal) => list.refresh(signal), POLL, [list])
  const runs = list.runs.value
  const loadMore = useCallback(() => void list.loadMore(), [list])
  return (
    <div class="runs">
      <header class="view-head">
        <h1>Runs</h1>
        <span class="hint" role="status">
          {list.isLoaded.value && `${runs.length}${list.hasMore.value ? '+' : ''}`}
        </span>
        <RunFilters query={route.query} />
      </header>
      {list.error.value !== undefined && (
        <div class="view-body grow-0">
          <ErrorNotice error={list.error.value} />
        </div>
      )}
      {runs.length === 0 && list.isLoaded.value && list.error.value === undefined ? (
        <Empty icon="runs" title="No runs">
          <p>
            {Object.keys(route.query).length > 0
              ? 'No run matches these filters.'
              : 'What you run shows up here.'}
          </p>
        </Empty>
      ) : (
        <WindowedList
          label="Runs, newest first"
          count={runs.length}
          rowHeight={ROW}
          keyOf={(at) => runs[at]!.runId}
          row={(at) => <Row run={runs[at]!} />}
          onEnd={loadMore}
        />
      )}
    </div>
  )
}

function Row({ run }: { run: RunItem }) {
  const {
    runId,
    kind,
    name,
    status,
    createdAt,
    updatedAt,
    preview,
    error,
    metadata,
    queuePosition,
    usage,
    firstTokenMs
  } = run
  const isOver = status === 'completed' || status === 'failed' || status === 'canceled'
  const end = isOver ? Date.parse(updatedAt) : now.value
  const text = error === undefined ? preview : error.message
  return (
    <a class="run-row" href={hrefOf(['run', runId])}>
      <span class="run-status">
        <Status status={status} />
        {queuePosition !== undefined && <span class="hint"> {queuePosition}</span>}
      </span>
      <span class="run-what">
        <span class="run-name">
          <strong>{cleanLine(name, 80)}</strong> <span class="hint">{kind}</span>
          {Object.entries(metadata ?? {})
            .slice(0, 3)
            .map(([key, value]) => (
              <span class="chip" key={key}>
                <bdi>
                  {cleanLine(key, 30)}={cleanLine(value, 30)}
                </bdi>
              </span>
            ))}
        </span>
        <span class={error === undefined ? 'hint ellipsis' : 'bad ellipsis'}>
          <bdi>{text === undefined ? ' ' : cleanLine(text, 160)}</bdi>
        </span>
      </span>
      <span class="run-when run-took hint">
        {usage !== undefined && <span>{formatCount(usage.totalTokens)} tokens</span>}
        {firstTokenMs !== undefined && <span>first after {formatDuration(firstTokenMs)}</span>}
      </span>
      <span class="run-when hint">
        <Ago at={createdAt} />
        <span>{formatDuration(Math.max(0, end - Date.parse(createdAt)))}</span>
      </span>
    </a>
  )
}

/** What the address selects; what it does not mean is ignored. */
function toFilter({ status, name, metadata }: Route['query']): RunFilter {
  const [key = '', ...value] = metadata?.split('=') ?? []
  return {
    ...(status !== undefined && status in STATUS_LABELS && { status: status as RunStatus }),
    ...(name !== undefined && { name }),
    ...(key !== '' && value.length > 0 && { metadata: { key, value: value.join('=') } })
  }
}
