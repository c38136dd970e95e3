import { listRunnables, listRuns, type RunItem } from '../../api/resources.ts'
import { hrefOf, type Route } from '../../app/router.ts'
import { cleanLine } from '../../components/clean-text.ts'
import { Empty, ErrorNotice } from '../../components/notice.tsx'
import { Status } from '../../components/status.tsx'
import { Ago } from '../../components/time.tsx'
import { useLoad } from '../../components/use-load.ts'
import { usePoll } from '../../components/use-poll.ts'
import { isBrowserTool } from '../../models/film.ts'
import { Film } from './film.tsx'
import './browser.css'

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
