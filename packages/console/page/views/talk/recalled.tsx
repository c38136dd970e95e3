import { useEffect, useRef, useState } from 'preact/hooks'
import { followStream, isEnd, type StreamReader } from '../../api/event-stream.ts'
import { runStream } from '../../api/resources.ts'
import { RunModel } from '../../models/run-model.ts'
import type { SavedTurn } from '../../models/saved-turns.ts'
import { Live, Saved, type Again } from './turn.tsx'

/**
 * A turn as the session keeps it. Once it is in view it is as it was when it was said, with citations, structured output and members, for
 * as long as the service keeps the log of its run.
 */
export function Recalled({ turn, again }: { turn: SavedTurn; again: Again }) {
  const place = useRef<HTMLDivElement>(null)
  const { runId } = turn
  const [run, setRun] = useState<RunModel>()
  useEffect(() => {
    const abort = new AbortController()
    const recalled = new RunModel(runId)
    const reader: StreamReader = {
      onParts: (parts) => recalled.push(parts),
      onState: ({ is }) => {
        if (is === 'over' && recalled.isOver) setRun(recalled)
      },
      isLast: isEnd
    }
    const seen = new IntersectionObserver((entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return
      seen.disconnect()
      // What the session keeps is shown in any case.
      followStream(runStream(runId), reader, abort.signal).catch(() => {})
    })
    seen.observe(place.current!)
    return () => {
      seen.disconnect()
      abort.abort()
    }
  }, [runId])
  return (
    <div ref={place}>
      {run === undefined ? <Saved turn={turn} again={again} /> : <Live run={run} again={again} />}
    </div>
  )
}
