import { useEffect, useMemo } from 'preact/hooks'
import { useSeen } from '../../components/use-seen.ts'
import type { SavedTurn } from '../../models/saved-turns.ts'
import { WatchedRun } from '../../models/watched-run.ts'
import { Live, Saved, type Again } from './turn.tsx'

/**
 * A turn as the session keeps it. Once it is in view it is as it was when it was said, with citations, structured output and members, for
 * as long as the service keeps the log of its run.
 */
export function Recalled({ turn, again }: { turn: SavedTurn; again: Again }) {
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
