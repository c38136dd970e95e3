import './browser.css'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { listRunnables, listRuns, type RunItem } from '../../api/resources.ts'
import { hrefOf, type Route } from '../../app/router.ts'
import { cleanLine } from '../../components/clean-text.ts'
import { Icon, Status, WebLink } from '../../components/elements.tsx'
import { FilePreview } from '../../components/file-chip.tsx'
import { useLoad, usePoll, useSeen } from '../../components/hooks.ts'
import { Empty, ErrorNotice, StreamNotice } from '../../components/notice.tsx'
import { Ago } from '../../components/time.tsx'
import { isBrowserTool, toFilm, type Frame } from '../../models/film.ts'
import type { ToolItem } from '../../models/run-items.ts'
import { WatchedRun } from '../../models/watched-run.ts'

/** The screenshots of a run as a strip, each with the action that followed; while the run goes on, the newest one is in view. */
function Film({ runId }: { runId: string }) {
  const watched = useMemo(() => new WatchedRun(runId), [])
  useEffect(() => {
    watched.follow()
    return () => watched.close()
  }, [])
  const { run, stream, fault } = watched
  void run.version.value
  const frames = useMemo(() => toFilm(run.items), [run.items])
  const strip = useNewest(frames.length)
  return (
    <div class="film">
      <header class="view-head">
        <a class="button quiet icon" href={hrefOf(['browser'])} aria-label="All runs with a browser">
          <Icon name="back" />
        </a>
        <h1 class="ellipsis">{cleanLine(run.start?.name ?? 'Run', 100)}</h1>
        {run.start !== undefined && <Status status={run.status} />}
        <a class="button end" href={hrefOf(['run', runId])}>
          <Icon name="runs" /> Run
        </a>
      </header>
      {fault.value !== undefined && <ErrorNotice error={fault.value} />}
      <StreamNotice state={stream.value} />
      {frames.length === 0 && (
        <Empty icon="film" title={run.isOver ? 'No screenshots' : 'No screenshots yet'}>
          <p>An agent keeps them with its option “screenshots”, or if its model sees them.</p>
        </Empty>
      )}
      {frames.length > 0 && (
        <ol class="strip" ref={strip} tabIndex={0} aria-label="Screenshots, oldest first">
          {frames.map(({ id, ...frame }, at) => (
            <Shot key={id} runId={runId} number={at + 1} {...frame} />
          ))}
        </ol>
      )}
    </div>
  )
}

function Shot({
  runId,
  number,
  file,
  source,
  page,
  actions
}: Omit<Frame, 'id'> & { runId: string; number: number }) {
  const [place, isSeen] = useSeen<HTMLLIElement>('50%')
  const { fileId, mimeType } = file
  return (
    <li class="shot" ref={place}>
      <p class="row">
        <span class="chip">{number}</span>
        <span class="ellipsis shot-page">
          {page === undefined ? (
            'No page'
          ) : (
            <WebLink href={page.url}>{cleanLine(page.title || page.url, 120)}</WebLink>
          )}
        </span>
        {source.length > 0 && <bdi class="hint ellipsis">{cleanLine(source.join(' › '), 60)}</bdi>}
      </p>
      <div class="shot-image">
        {isSeen && fileId !== undefined && (
          <FilePreview runId={runId} fileId={fileId} mimeType={mimeType} name={`Screenshot ${number}`} />
        )}
      </div>
      {actions.map((action) => (
        <Action key={action.id} action={action} />
      ))}
    </li>
  )
}

function Action({ action }: { action: ToolItem }) {
  const { args, state, error } = action
  return (
    <p class="shot-action" data-state={state}>
      <Icon name="right" />
      <strong>{cleanLine(action.toolName.replace(/^browser_/, ''), 60)}</strong>
      {Object.entries((args ?? {}) as object).map(([key, value]) => (
        <span key={key}>
          <span class="hint">{cleanLine(key, 30)}</span>{' '}
          <bdi>{cleanLine(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''), 120)}</bdi>
        </span>
      ))}
      {error !== undefined && <span class="bad">{cleanLine(error.message, 200)}</span>}
    </p>
  )
}

/** Scrolls to the newest frame as it comes, unless the visitor looks at an earlier one. */
function useNewest(count: number) {
  const strip = useRef<HTMLOListElement>(null)
  const before = useRef(0)
  useEffect(() => {
    const shots = strip.current?.children
    const { right = Infinity, bottom = 0 } = shots?.[before.current - 1]?.getBoundingClientRect() ?? {}
    if (right <= innerWidth && bottom <= innerHeight) shots?.[count - 1]?.scrollIntoView()
    before.current = count
  }, [count])
  return strip
}

/** Milliseconds between looks at the newest runs. */
const POLL = 5_000
/** Runs of each agent. */
const PAGE = 20

/** `#/browser`: the runs of agents with a browser; `#/browser/id`: what the browser of a run has shown. */
export function Browser({ route }: { route: Route }) {
  const [, runId] = route.path
  return runId === undefined ? <BrowserRuns /> : <Film key={runId} runId={runId} />
}

function BrowserRuns() {
  const runs = useLoad(readRuns, [])
  usePoll(async () => runs.reload(), POLL, [])
  return (
    <>
      <header class="view-head">
        <h1>Browser</h1>
      </header>
      <div class="view-body stack">
        {runs.error !== undefined && <ErrorNotice error={runs.error} onRetry={runs.reload} />}
        {runs.value?.length === 0 && (
          <Empty icon="film" title="No runs with a browser">
            <p>Runs of browser agents show up here, with their screenshots if the agents keep them.</p>
          </Empty>
        )}
        <ul class="cards">
          {runs.value?.map(({ runId, name, status, createdAt, preview }) => (
            <li key={runId}>
              <a class="card" href={hrefOf(['browser', runId])}>
                <span class="row">
                  <strong class="ellipsis">{cleanLine(name, 80)}</strong> <Status status={status} />
                  <span class="hint end">
                    <Ago at={createdAt} />
                  </span>
                </span>
                <bdi class="hint">{cleanLine(preview ?? '', 160)}</bdi>
              </a>
            </li>
          ))}
        </ul>
      </div>
    </>
  )
}

async function readRuns(signal: AbortSignal): Promise<RunItem[]> {
  const agents = await listRunnables('agent', { signal })
  const browsing = agents.filter(
    ({ egress, tools }) => egress !== undefined || tools?.some(({ name }) => isBrowserTool(name))
  )
  const pages = await Promise.all(browsing.map(({ name }) => listRuns({ name, limit: PAGE }, { signal })))
  const runs = pages.flatMap((page) => page.runs).filter(({ kind }) => kind === 'agent')
  return runs.toSorted((a, b) => b.createdAt.localeCompare(a.createdAt))
}
