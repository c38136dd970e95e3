import './run.css'
import './log.css'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { cancelRun } from '../../api/resources.ts'
import { announce } from '../../app/announcer.tsx'
import { hrefOf, type Route } from '../../app/router.ts'
import { cleanLine, cleanText } from '../../components/clean-text.ts'
import { CopyButton, Fact, Facts, Icon, Status } from '../../components/elements.tsx'
import { Content } from '../../components/items/content.tsx'
import { Items } from '../../components/items/items.tsx'
import { Empty, ErrorNotice, StreamNotice } from '../../components/notice.tsx'
import { formatCount, formatDuration, formatTime, now } from '../../components/time.tsx'
import type { LogModel } from '../../models/log-model.ts'
import { logAsCurl, startAsCurl } from '../../models/other-wires.ts'
import type { RunModel } from '../../models/run-model.ts'
import { WatchedRun } from '../../models/watched-run.ts'
import { Parts } from './parts.tsx'
import { Timeline } from './timeline.tsx'
import { RunWires } from './wires.tsx'

/** The run as commands for a shell. */
function Commands({ run }: { run: RunModel }) {
  void run.version.value
  const start = startAsCurl(run)
  return (
    <div class="view-body stack commands">
      <Command title="Start such a run" text={start} />
      {start === undefined && <p class="hint">The input of this run is not recorded, or has files.</p>}
      <Command title="Read its log, and follow it" text={logAsCurl(run.runId)} />
    </div>
  )
}

function Command({ title, text }: { title: string; text: string | undefined }) {
  return (
    <section class="stack">
      <div class="row">
        <h2>{title}</h2>
        {text !== undefined && <CopyButton text={text} label={`Copy: ${title}`} />}
      </div>
      {text !== undefined && (
        <pre tabIndex={0} role="group" aria-label={title}>
          <code>{cleanText(text)}</code>
        </pre>
      )}
    </section>
  )
}

/** What is known of a run at a glance. */
function RunFacts({ run, log }: { run: RunModel; log: LogModel }) {
  void run.version.value
  const { runId, start, startedAt, endedAt, isOver, finish, usage } = run
  const firstToken = log.spans.find(({ firstAt }) => firstAt !== undefined)
  const end = endedAt ?? (isOver ? startedAt : now.value)
  return (
    <Facts>
      {startedAt !== undefined && <Fact name="Started">{formatTime(startedAt)}</Fact>}
      {startedAt !== undefined && end !== undefined && (
        <Fact name="Duration">{formatDuration(Math.max(0, end - startedAt))}</Fact>
      )}
      {firstToken !== undefined && (
        <Fact name="First token">{formatDuration(firstToken.firstAt! - firstToken.from)}</Fact>
      )}
      {usage !== undefined && (
        <Fact name="Tokens">
          {formatCount(usage.promptTokens)} in, {formatCount(usage.completionTokens)} out
        </Fact>
      )}
      {finish !== undefined && <Fact name="Finished">{cleanLine(finish.finishReason, 40)}</Fact>}
      <Fact name="Parts">{formatCount(log.parts.length)}</Fact>
      {Object.entries(start?.metadata ?? {}).map(([key, value]) => (
        <Fact key={key} name={cleanLine(key, 40)}>
          {cleanLine(value, 80)}
        </Fact>
      ))}
      <Fact name="Id">
        <code class="ellipsis">{cleanLine(runId, 60)}</code>
        <CopyButton text={runId} label="Copy the id" />
      </Fact>
    </Facts>
  )
}

const TABS = {
  timeline: 'Timeline',
  content: 'Content',
  parts: 'Parts',
  wires: 'Wires',
  curl: 'As curl'
} as const
type Tab = keyof typeof TABS

/** `#/run/id?tab=…`: one run, live: its timeline, what it said, every part as it is, as each wire tells it, and the commands for it. */
export function Run({ route }: { route: Route }) {
  const [, runId] = route.path
  if (runId === undefined) return <Empty icon="runs" title="No run is named" />
  return <RunOf key={runId} runId={runId} route={route} />
}

function RunOf({ runId, route }: { runId: string; route: Route }) {
  const watched = useMemo(() => new WatchedRun(runId), [runId])
  useEffect(() => {
    watched.follow()
    return () => watched.close()
  }, [watched])
  const { run, log, stream, fault } = watched
  void run.version.value
  const asked = route.query['tab']
  const tab: Tab = asked !== undefined && Object.hasOwn(TABS, asked) ? (asked as Tab) : 'timeline'
  return (
    <div class="run">
      <header class="view-head">
        <a class="button quiet icon" href={hrefOf(['runs'])} aria-label="All runs">
          <Icon name="back" />
        </a>
        <h1 class="ellipsis">{cleanLine(run.start?.name ?? 'Run', 100)}</h1>
        {run.start !== undefined && <Status status={run.status} />}
        <Actions run={run} />
      </header>
      <div class="run-facts">
        <RunFacts run={run} log={log} />
        {fault.value !== undefined && <ErrorNotice error={fault.value} />}
        <StreamNotice state={stream.value} />
        {run.error !== undefined && (
          <p class="notice bad">
            {cleanLine(run.error.message, 500)} <code>{cleanLine(run.error.code, 80)}</code>
          </p>
        )}
      </div>
      <nav class="tabs" aria-label="Of the run">
        {Object.entries(TABS).map(([name, title]) => (
          <a
            key={name}
            href={hrefOf(['run', runId], { tab: name === 'timeline' ? undefined : name })}
            aria-current={name === tab ? 'page' : undefined}
          >
            {title}
          </a>
        ))}
      </nav>
      {tab === 'timeline' && <Timeline log={log} runId={runId} isOver={run.isOver} />}
      {tab === 'parts' && <Parts log={log} selected={Number(route.query['seq']) || undefined} />}
      {tab === 'content' && <RunContent run={run} />}
      {tab === 'wires' && <RunWires run={run} log={log} />}
      {tab === 'curl' && <Commands run={run} />}
    </div>
  )
}

function Actions({ run }: { run: RunModel }) {
  void run.version.value
  const [error, setError] = useState<unknown>()
  const { runId, start, isOver } = run
  const cancel = () => {
    setError(undefined)
    cancelRun(runId).then(() => announce('Canceled'), setError)
  }
  return (
    <div class="row end">
      {error !== undefined && <ErrorNotice error={error} />}
      {start !== undefined && !isOver && (
        <button type="button" class="button danger" onClick={cancel}>
          <Icon name="stop" /> Cancel
        </button>
      )}
      {start !== undefined && (
        <a class="button" href={hrefOf(['talk', start.kind, start.name, start.sessionId])}>
          <Icon name="talk" /> Talk
        </a>
      )}
    </div>
  )
}

function RunContent({ run }: { run: RunModel }) {
  void run.version.value
  const { runId, start, items, isOver } = run
  return (
    <section class="run-content" tabIndex={0} aria-label="Content">
      <div class="stack">
        {start?.input !== undefined && (
          <div class="asked-bubble">
            <Content content={start.input} runId={runId} />
          </div>
        )}
        <Items items={items} runId={runId} isOver={isOver} />
        {items.length === 0 && isOver && <p class="hint">The run has said nothing.</p>}
      </div>
    </section>
  )
}
