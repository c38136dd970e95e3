import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { describeError } from '../../api/client.ts'
import { announce } from '../../app/announcer.tsx'
import { ErrorNotice, StreamNotice } from '../../components/notice.tsx'
import { useSeen } from '../../components/hooks.ts'
import type { Conversation } from '../../models/conversation.ts'
import type { RunModel } from '../../models/run-model.ts'
import type { SavedTurn } from '../../models/saved-turns.ts'
import { WatchedRun } from '../../models/watched-run.ts'
import { Asked, Live, Saved, type Again } from './turn.tsx'

/**
 * A turn as the session keeps it. Once it is in view it is as it was when it was said, with citations, structured output and members, for
 * as long as the service keeps the log of its run.
 */
function Recalled({ turn, again }: { turn: SavedTurn; again: Again }) {
  const [place, isSeen] = useSeen<HTMLDivElement>()
  const watched = useMemo(() => new WatchedRun(turn.runId), [turn.runId])
  useEffect(() => {
    if (!isSeen) return undefined
    watched.follow()
    return () => watched.close()
  }, [isSeen, watched])
  const { run, stream } = watched
  // Without the log there is what the session keeps.
  const isWhole = stream.value?.is === 'over' && run.isOver
  return (
    <div ref={place}>{isWhole ? <Live run={run} again={again} /> : <Saved turn={turn} again={again} />}</div>
  )
}

/** Everything that was said, oldest first; it stays at its end unless the visitor reads further up. */
export function Transcript({ conversation, again }: { conversation: Conversation; again: Again }) {
  const { saved, runs, sending, older, state, fault, stream, ref } = conversation
  const scroller = useStickyEnd(conversation)
  const isEmpty = saved.value.length + runs.value.length + sending.value.length === 0
  return (
    <section class="transcript" ref={scroller} tabIndex={0} aria-label="Conversation">
      <div>
        {older.value !== null && <Older conversation={conversation} />}
        {isEmpty && state.value === 'ready' && fault.value === undefined && (
          <p class="hint begin">
            What you write goes to {ref.kind} {ref.name}.
          </p>
        )}
        {saved.value.map((turn) => (
          <Recalled key={turn.runId} turn={turn} again={again} />
        ))}
        {runs.value.map((run) => (
          <Live key={run.runId} run={run} again={again} />
        ))}
        {runs.value.map((run) => (
          <Herald key={run.runId} run={run} />
        ))}
        {sending.value.map(({ id, input, options, error }) => (
          <article class="turn" key={id}>
            <Asked content={input} files={options.files} />
            {error === undefined ? (
              <p class="hint">Sending …</p>
            ) : (
              <>
                <ErrorNotice error={error} onRetry={() => void conversation.send(input, options, id)} />
                <button type="button" class="button quiet" onClick={() => conversation.discard(id)}>
                  Discard
                </button>
              </>
            )}
          </article>
        ))}
        {fault.value !== undefined && <ErrorNotice error={fault.value} />}
        <StreamNotice state={stream.value} />
      </div>
    </section>
  )
}

function Older({ conversation }: { conversation: Conversation }) {
  const [state, setState] = useState<{ isBusy: boolean; error?: unknown }>({ isBusy: false })
  const load = () => {
    setState({ isBusy: true })
    conversation.loadOlder().then(
      () => setState({ isBusy: false }),
      (error: unknown) => setState({ isBusy: false, error })
    )
  }
  return (
    <div class="older">
      <button type="button" class="button quiet" disabled={state.isBusy} onClick={load}>
        Older messages
      </button>
      {state.error !== undefined && <p class="hint">{describeError(state.error)}</p>}
    </div>
  )
}

const NEWS: Readonly<Partial<Record<RunModel['status'], string>>> = {
  'input-required': 'Waiting for you',
  completed: 'The answer is complete',
  failed: 'The run has failed',
  canceled: 'The run was canceled'
}

/** Says how a run goes, since its text is not read aloud as it comes. */
function Herald({ run }: { run: RunModel }) {
  void run.version.value
  const { status } = run
  useEffect(() => {
    const news = NEWS[status]
    if (news !== undefined) announce(news)
  }, [status])
  return null
}

// Follows the end while the content grows, until the visitor scrolls up; and again once the end is in view.
function useStickyEnd(conversation: Conversation) {
  const scroller = useRef<HTMLElement>(null)
  useEffect(() => {
    const element = scroller.current!
    let isAtEnd = true
    const scrolled = () => {
      isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < 48
    }
    const grown = new ResizeObserver(() => {
      if (isAtEnd) element.scrollTop = element.scrollHeight
    })
    element.addEventListener('scroll', scrolled, { passive: true })
    grown.observe(element.firstElementChild!)
    grown.observe(element)
    return () => {
      element.removeEventListener('scroll', scrolled)
      grown.disconnect()
    }
  }, [conversation])
  return scroller
}
