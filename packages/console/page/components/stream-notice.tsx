import type { StreamState } from '../api/event-stream.ts'
import { cleanLine } from './clean-text.ts'
import { ErrorNotice } from './notice.tsx'
import { Left } from './time.tsx'

/** Says when a stream is cut off, and when it tries again. */
export function StreamNotice({ state }: { state: StreamState | undefined }) {
  if (state?.is === 'failed') return <ErrorNotice error={state.error} />
  if (state?.is !== 'lost') return null
  return (
    <p class="notice warn" role="status">
      {cleanLine(state.reason, 300)} It continues in <Left until={state.until} />.
    </p>
  )
}
