import { ErrorNotice } from '../../components/notice.tsx'
import type { useCall } from './use-call.ts'

const LABELS = {
  connecting: 'Connecting …',
  listening: 'Listening',
  thinking: 'Thinking …',
  speaking: 'Speaking'
} as const

/** How a call is doing, with the level of the microphone; what is said is in the transcript. */
export function CallBar({ state, isMuted, error, meter, toggleMute, current }: ReturnType<typeof useCall>) {
  return (
    <>
      {error !== undefined && <ErrorNotice error={error} />}
      {state !== undefined && (
        <section class="row call" aria-label="Call" data-state={state}>
          <strong role="status">{isMuted && state === 'listening' ? 'Muted' : LABELS[state]}</strong>
          <meter ref={meter} min={0} max={1} aria-label="Level of the microphone" />
          <span class="row end">
            {state === 'speaking' && (
              <button type="button" class="button quiet" onClick={() => current.current?.stop()}>
                Interrupt
              </button>
            )}
            <button type="button" class="button" aria-pressed={isMuted} onClick={toggleMute}>
              Mute
            </button>
            <button type="button" class="button danger" onClick={() => current.current?.hangUp()}>
              Hang up
            </button>
          </span>
        </section>
      )}
    </>
  )
}
